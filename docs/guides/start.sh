# Functions that the guides share, for a shell with curl and Python 3; a registry serves this file at /guides/start.sh.
# Files are stored in a new directory, because some hold secrets. Each run uses new names. In the root of a checkout the
# programs of its environment are found first.
REGISTRY=${REGISTRY:-http://127.0.0.1:8000}
API="$REGISTRY/api/v1"
JSON='Content-Type: application/json'
export PATH="$PWD/.venv/bin:$PATH"
umask 077
cd "$(mktemp -d)"

# A request; a refusal ends with a status other than 0 and prints the problem document.
call() { curl -sS --fail-with-body "$@"; echo; }

# A member of the JSON document on standard input: `field recovery_keys.0 < account.json`.
field() {
  python3 -IS -c '
import json, sys

text = sys.stdin.read()
try:
    value = json.loads(text)
    for name in sys.argv[1].split("."):
        value = value[int(name)] if name.isdigit() else value[name]
except (ValueError, LookupError, TypeError):
    sys.exit(f"The answer has no {sys.argv[1]}: {text.strip()}")
print(json.dumps(value) if isinstance(value, (dict, list)) else value)' "$1"
}

new_id() { od -An -N4 -tx4 /dev/urandom | tr -d ' '; }

new_password() { echo "Aa1-$(new_id)$(new_id)"; }

# log_in EMAIL PASSWORD: prints a developer token.
log_in() { call "$API/auth/login" --data-urlencode "username=$1" --data-urlencode "password=$2" | field access_token; }

# new_developer: registers one, and sets EMAIL, PASSWORD and the developer token DEV.
new_developer() {
  EMAIL="ada-$(new_id)@example.org"
  PASSWORD=$(new_password)
  call "$API/auth/register" -H "$JSON" -d '{"name": "'"$EMAIL"'", "email": "'"$EMAIL"'", "password": "'"$PASSWORD"'",
    "tos_accepted": true, "age_confirmed": true}' > account.json
  DEV=$(log_in "$EMAIL" "$PASSWORD")
}

# new_agent NAME [URL PRICE]: creates an agent of that developer, at this address and price for a call where they are given;
# its DID is in NAME.did, its token in NAME.token.
new_agent() {
  pricing=${3:+"\"pricing\": {\"base_rate\": \"$3\", \"payment_required\": true},"}
  bootstrap=$(call "$API/onboard/bootstrap/request-token" -H "$JSON" -H "Authorization: Bearer $DEV" -d '{}' | field bootstrap_token)
  method=$(call "$API/public/registry-config" | field did_method)
  call "$API/onboard/create_agent" -H "$JSON" -H "Bootstrap-Token: $bootstrap" -d '{"agent_did_method": "'"$method"'",
    "agent_card": {"name": "'"$1"'", "description": "Translates documents.", "version": "1.0.0", "capabilities": {}, '"${pricing:-}"'
    "supportedInterfaces": [{"url": "'"${2:-https://agent.example.org/a2a}"'", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "translate", "name": "Translate", "description": "Translates.", "tags": ["translation"]}]}}' > "$1.json"
  field agent_did < "$1.json" > "$1.did"
  call "$API/auth/agent/token" --data-urlencode "username=$(field client_id < "$1.json")" \
    --data-urlencode "password=$(field client_secret < "$1.json")" | field access_token > "$1.token"
}

# new_administrator AREA: the operator creates an administrator on the registry's machine; sets the developer token ADMIN.
new_administrator() {
  admin_email="ops-$(new_id)@example.org"
  admin_password=$(new_password)
  HANSA_ADMIN_PASSWORD=$admin_password hansa admin create --name "$admin_email" --email "$admin_email" --areas "$1"
  ADMIN=$(log_in "$admin_email" "$admin_password")
}
