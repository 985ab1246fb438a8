-- One transition of the store of paid calls. ARGV: act, prefix, token hash, seconds an entry is kept, values of the act.
-- All keys derive from the prefix: the store uses one server, not a cluster.
local act, prefix, token_hash, kept = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local key, running, due = prefix .. 'call:' .. token_hash, prefix .. 'running', prefix .. 'due'
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local fields = {'state', 'owner', 'lease_until', 'use_id', 'fingerprint', 'facts', 'sealed_token', 'answer', 'payment',
  'capture_amount', 'settlement_tx_id'}

local function get(of, name) return redis.call('HGET', of, name) or '' end

local function row(of)
  local values = redis.call('HMGET', of, unpack(fields))
  for index = 1, #fields do values[index] = values[index] or '' end
  values[#fields + 1] = string.format('%.6f', now)
  return values
end

local function until_(seconds) return string.format('%.6f', now + tonumber(seconds)) end

-- A due payment keeps its entry; every other entry expires.
local function pay(of, hash, payment)
  redis.call('HSET', of, 'payment', payment)
  if payment == 'capture' or payment == 'release' then redis.call('PERSIST', of)
  else
    redis.call('ZREM', due, hash)
    redis.call('EXPIRE', of, kept)
  end
end

local function give_up(of, hash)
  redis.call('HSET', of, 'state', 'lost')
  redis.call('ZREM', running, hash)
  if get(of, 'payment') == 'held' then
    pay(of, hash, 'release')
    redis.call('ZADD', due, now, hash)
  end
end

local function owned(state) return get(key, 'owner') == ARGV[5] and get(key, 'state') == state end
local function is_alive() return tonumber(get(key, 'lease_until')) >= now end

if act == 'claim' then
  if redis.call('EXISTS', key) == 0 then
    redis.call('HSET', key, 'state', 'claimed', 'owner', ARGV[5], 'lease_until', until_(ARGV[6]), 'use_id', ARGV[7],
      'fingerprint', ARGV[8], 'payment', 'none')
    redis.call('EXPIRE', key, kept)
  elseif not is_alive() and get(key, 'state') == 'claimed' then
    redis.call('HSET', key, 'owner', ARGV[5], 'lease_until', until_(ARGV[6]))
  elseif not is_alive() and get(key, 'state') == 'running' then
    give_up(key, token_hash)
  end
  return row(key)
elseif act == 'start' then
  if owned('running') then return 1 end
  if not owned('claimed') or not is_alive() then return 0 end
  redis.call('HSET', key, 'state', 'running', 'facts', ARGV[6], 'payment', ARGV[7], 'sealed_token', ARGV[8])
  redis.call('ZADD', running, get(key, 'lease_until'), token_hash)
  return 1
elseif act == 'renew' then
  if not owned('claimed') and not owned('running') then return 0 end
  redis.call('HSET', key, 'lease_until', until_(ARGV[6]))
  if owned('running') then redis.call('ZADD', running, until_(ARGV[6]), token_hash) end
  return 1
elseif act == 'finish' then
  if owned('answered') then return row(key) end
  if not owned('running') then return false end
  redis.call('HSET', key, 'state', 'answered', 'answer', ARGV[6], 'capture_amount', ARGV[8])
  redis.call('ZREM', running, token_hash)
  if ARGV[10] ~= '' then redis.call('SET', prefix .. 'receipt:' .. ARGV[10], ARGV[11], 'EX', ARGV[12]) end
  pay(key, token_hash, ARGV[7])
  if ARGV[7] == 'capture' or ARGV[7] == 'release' then redis.call('ZADD', due, until_(ARGV[9]), token_hash) end
  return row(key)
elseif act == 'withdraw' then
  if owned('claimed') then redis.call('DEL', key) end
  return 1
elseif act == 'pause' then
  if owned('claimed') or owned('running') then redis.call('HSET', key, 'lease_until', '0') end
  if owned('running') then redis.call('ZADD', running, 0, token_hash) end
  return 1
elseif act == 'lose' then
  if not owned('claimed') then return 0 end
  redis.call('HSET', key, 'state', 'lost', 'facts', ARGV[6], 'sealed_token', ARGV[8])
  pay(key, token_hash, ARGV[7])
  if ARGV[7] == 'release' then redis.call('ZADD', due, now, token_hash) end
  return 1
elseif act == 'read' then
  if redis.call('EXISTS', key) == 0 then return false end
  return row(key)
elseif act == 'settle' then
  if redis.call('EXISTS', key) == 0 then return false end
  local payment = get(key, 'payment')
  if payment == 'capture' or payment == 'release' then
    redis.call('HSET', key, 'settlement_tx_id', ARGV[6], 'sealed_token', '')
    pay(key, token_hash, ARGV[5])
  end
  return row(key)
elseif act == 'due' then
  for _, hash in ipairs(redis.call('ZRANGEBYSCORE', running, '-inf', '(' .. string.format('%.6f', now))) do
    give_up(prefix .. 'call:' .. hash, hash)
  end
  local rows = {}
  for _, hash in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', string.format('%.6f', now), 'LIMIT', 0, ARGV[5])) do
    redis.call('ZADD', due, until_(ARGV[6]), hash)
    local values = row(prefix .. 'call:' .. hash)
    table.insert(values, 1, hash)
    rows[#rows + 1] = values
  end
  return rows
end
return redis.error_reply('unknown act ' .. act)
