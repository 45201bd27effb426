// Package hotelstaysredis lets several processes share state through Redis:
//
//   - TokenStore: the token, so that one process fetches it for all;
//   - RateLimiter: the rate limits, because the service counts requests per client IP address;
//   - EventStore: which webhooks were handled.
//
// Each of them uses a client of github.com/redis/go-redis/v9 for one server, a failover group or a
// cluster. The caller configures and closes that client. It must read from masters, because
// replicas lag. Redis 6.2 or later, or a compatible server, is required.
//
// All keys begin with a prefix. Use one prefix for each environment of the service. A RateLimiter
// separates environments itself, but needs one prefix per client IP address. All keys of a script
// have the same hash tag, so that they are in one slot of a cluster. Redis must not evict keys: set
// maxmemory-policy to noeviction.
package hotelstaysredis
