// Package chaos has tests with many faults, clients or processes: bookings with faults and dying processes, bursts of
// calls, and files at every stage of a download. HOTELSTAYS_LONG=1 runs all cases, and -short the fewest.
package chaos
