-- One turn of one process at the rate limit of one operation in one environment: it reports what happened to
-- the process's permits, asks for new permits, and returns when the next turn is due. All times are
-- this server's, in microseconds.
--
-- memory  hash: run, the id of the server's run that wrote the hash; since, when the hash was created; last,
--         the time of the last turn; a field for each rate limit that has slots; and a field for each line of a
--         rate limit: how many tickets of other lines were served while a ticket of this line waited.
-- slots   sorted set: permit -> when its slot is free again: a window after its request
--         arrived, as far as the process knows, or at the end of its lease. Two more members have
--         negative values: rest -> minus the time before which nothing is granted, and refused -> minus
--         the time of the last 429. rest is always present, so its absence shows that slots were evicted.
-- lines   three lists, one for each priority, the most urgent list first: a process's name, once for each
--         ticket. First come, first served.
-- alive   sorted set: process in line -> when its tickets expire.
-- turn    string: the number of the process's last turn.
--
-- The memory is valid for one run of the server. A server that restarts from its disk, or was a
-- replica, may lack the last changes. A last turn in the future means that the clock was
-- set back, so all stored times are wrong.
local memory, slots, alive, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local lines = {KEYS[5], KEYS[6], KEYS[7]}

local me = ARGV[1]
local name = ARGV[2]           -- name of the rate limit
local number = tonumber(ARGV[3])       -- number of this turn
local limit = tonumber(ARGV[4])
local window = tonumber(ARGV[5])       -- the service's second
local lease = tonumber(ARGV[6])        -- how long a permit is kept without a renewal
local want = {}                        -- number of callers that wait in the process, by priority
for callers in string.gmatch(ARGV[7], '%d+') do table.insert(want, tonumber(callers)) end
local first = tonumber(ARGV[8])        -- number of the first permit to grant
local pause = tonumber(ARGV[9])        -- grant nothing for this long
local initial_rest = tonumber(ARGV[10]) -- grant nothing for this long after the memory was created
local refused = tonumber(ARGV[11])     -- how long ago the process got a 429 that it has not reported; negative: there was none
local arrived = ARGV[12]               -- permits of requests that left, as number:age of the arrival
local unused, renewed = ARGV[13], ARGV[14] -- numbers of permits
local round_trip = tonumber(ARGV[15])  -- how long the process's last turn took

local patience = 250000      -- the next turn is due after this at the latest, because slots become free early and processes die
local rest_patience = 5000000 -- like patience, but during a rest, which never becomes shorter
local longest_rest = 86400000000 -- a longer pause is not accepted, even if another client stored it
local grace = 250000         -- how much too late a process's turn may be
local soonest = 500

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function text(number) return string.format('%.0f', number) end
local function permit(number) return me .. ':' .. number end
local function taken() return redis.call('ZCOUNT', slots, '(0', '+inf') end

-- The process has given up a turn that arrives after its next turn.
if number < (tonumber(redis.call('GET', turn)) or 0) then
	return {}
end
redis.call('SET', turn, text(number), 'PX', 60000)

-- The memory.
local run, since, last, used = unpack(redis.call('HMGET', memory, 'run', 'since', 'last', name))
local info = redis.pcall('INFO', 'server') -- ACLs may deny it, even to some processes only
local this = type(info) == 'string' and string.match(info, 'run_id:(%x+)') or run or 'unknown'
if run ~= this or tonumber(last) > now + window then -- normal jitter of a clock is less than a window
	redis.call('DEL', memory)
	redis.call('HSET', memory, 'run', this, 'since', text(now))
	since, used = now, false
end
redis.call('HSET', memory, 'last', text(now), name, 1)
if not used then
	redis.call('DEL', slots, alive, unpack(lines))
end

-- The rest. A rest begins when the memory is created. If slots are missing although the
-- memory exists, the slots were evicted, and another rest begins.
local rest_until = redis.call('ZSCORE', slots, 'rest')
if rest_until then
	rest_until = -tonumber(rest_until)
else
	rest_until = (used and now or tonumber(since)) + initial_rest
end
rest_until = math.min(math.max(rest_until, now + pause), now + longest_rest)
redis.call('ZADD', slots, text(-rest_until), 'rest')

-- Share the last 429 with all processes.
local before = redis.call('ZSCORE', slots, 'refused')
if before and (refused < 0 or now + before < refused) then
	refused = now + before
elseif refused >= 0 then
	redis.call('ZADD', slots, text(refused - now), 'refused')
end

-- The reports about earlier permits.
for number, ago in string.gmatch(arrived, '(%d+):(-?%d+)') do
	redis.call('ZADD', slots, text(now - ago + window), permit(number))
end
for number in string.gmatch(unused, '%d+') do
	redis.call('ZREM', slots, permit(number))
end
for number in string.gmatch(renewed, '%d+') do
	redis.call('ZADD', slots, text(now + lease), permit(number))
end
redis.call('ZREMRANGEBYSCORE', slots, '(0', text(now))

-- Remove the tickets of processes whose turn is overdue.
redis.call('ZREM', alive, me)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', alive, '-inf', text(now))) do
	for _, line in ipairs(lines) do redis.call('LREM', line, 0, gone) end
	redis.call('ZREM', alive, gone)
end
-- All waiting processes together may have about as many tickets as there are slots. So each process
-- gets its share when many slots become free at the same time, and the lines stay short.
local max_tickets = math.ceil(limit / (redis.call('ZCARD', alive) + 1))

-- tickets returns the number of tickets that this process has in a line.
local function tickets(line) return #redis.call('LPOS', line, me, 'COUNT', 0) end

-- keep removes the last tickets that the process no longer needs. If add is true, it adds tickets up to the process's
-- share. It returns the number of tickets.
local function keep(add)
	local left = max_tickets
	for lane, line in ipairs(lines) do
		local mine = tickets(line)
		local share = math.min(want[lane], left)
		if mine > share then
			redis.call('LREM', line, share - mine, me)
			mine = share
		end
		for _ = mine + 1, add and share or mine do
			redis.call('RPUSH', line, me)
			mine = mine + 1
		end
		left = left - mine
	end
	return max_tickets - left
end

-- passed counts for each line how many tickets of other lines were served while a ticket of this line waited.
local passed = {}
for lane = 1, 3 do
	passed[lane] = tonumber(redis.call('HGET', memory, name .. ':' .. lane)) or 0
end

-- queue returns the lane and the owner of each ticket, in the order of service: line after line, but each line gets
-- at least every tenth slot.
local function queue()
	local order, first = {}, {}
	for lane = 3, 1, -1 do
		local head = passed[lane] >= 9 and redis.call('LINDEX', lines[lane], 0)
		if head then
			table.insert(order, {lane, head})
			first[lane] = true
		end
	end
	for lane, line in ipairs(lines) do
		for _, owner in ipairs(redis.call('LRANGE', line, first[lane] and 1 or 0, -1)) do
			table.insert(order, {lane, owner})
		end
	end
	return order
end

keep(false)

-- Grants: the process's tickets that have a free slot, and then slots that no ticket needs.
local free = limit - taken()
local granted = 0
if redis.call('ZSCORE', slots, permit(text(first))) then
	-- These permits were granted in a turn whose reply was lost. Their leases begin again.
	while redis.call('ZSCORE', slots, permit(text(first + granted))) do
		redis.call('ZADD', slots, text(now + lease), permit(text(first + granted)))
		granted = granted + 1
	end
elseif rest_until <= now and free > 0 then
	local order = queue()
	local waiting = 0 - #order
	for _, callers in ipairs(want) do waiting = waiting + callers end
	for rank, ticket in ipairs(order) do
		local lane, owner = ticket[1], ticket[2]
		if owner ~= me then
			waiting = waiting + 1
		elseif rank <= free then
			redis.call('LREM', lines[lane], 1, me) -- removes its first ticket
			granted = granted + 1
			for other, line in ipairs(lines) do
				passed[other] = other ~= lane and redis.call('LLEN', line) > 0 and passed[other] + 1 or 0
			end
		end
	end
	granted = granted + math.max(0, math.min(free - #order, waiting))
	for i = 0, granted - 1 do
		redis.call('ZADD', slots, text(now + lease), permit(text(first + i)))
	end
	for lane = 1, 3 do
		redis.call('HSET', memory, name .. ':' .. lane, passed[lane])
	end
end

-- Add tickets for the callers that still wait.
local served = granted
for lane = 1, 3 do
	local callers = math.min(served, want[lane])
	want[lane], served = want[lane] - callers, served - callers
end
local waiting = keep(true)

-- Calculate when the first ticket can be served.
local wait = 0
if waiting > 0 then
	free = limit - taken()
	local needed = 0 - free -- slots that must become free before its own slot
	for _, ticket in ipairs(queue()) do
		if ticket[2] == me then break end
		needed = needed + 1
	end
	local at = now
	if needed >= 0 then
		at = tonumber(redis.call('ZRANGEBYSCORE', slots, '(0', '+inf', 'WITHSCORES', 'LIMIT', needed, 1)[2]) or now + window
	end
	wait = math.min(at - now, patience)
	if rest_until > now then
		wait = math.min(math.max(wait, rest_until - now), rest_patience)
	end
	wait = math.max(wait, soonest)
	redis.call('ZADD', alive, text(now + wait + round_trip + grace), me)
end
return {granted, waiting, max_tickets, math.ceil(wait), math.ceil(refused)}
