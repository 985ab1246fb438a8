from fastapi import APIRouter
router = APIRouter()
async def check_agent(runtime, token): raise RuntimeError
check_developer = check_agent
