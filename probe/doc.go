// Package probe checks a service against the document of the Hotel Stays Distribution API, and finds out what the document
// leaves open. It runs against the test environment of an account.
//
//	report, err := probe.Run(ctx, probe.Config{BaseURL: "https://test.example", Credential: cred})
//	...
//	client, err := hotelstays.New(baseURL, cred, hotelstays.WithServiceFacts(report.Facts))
//
// A [Rule] is one promise of the document, or one open point. [Run] tries the rules one after another. The [Report] has a
// [Result] for each rule, with the requests and answers that decided it. Package judge reads all answers of the run, and the
// results of its rules come last. A rule is [Broken] if the service contradicts a sentence of the document. It is [Weak] if
// the document allows what the service does, but clients have trouble with it. [Test] runs the rules in a test suite, with one
// subtest per rule. The command hotelstays-probe runs them in a terminal.
//
// # What it does to the service
//
// Without [Config.Booking] the rules only read. They use a tenth of each rate limit, and wait as long as a Retry-After asks.
// Three things need permission: to exceed one rate limit for a second ([Config.Burst]), to wait for long
// ([Config.Patience]), and to probe a base URL that does not look like a test environment ([Config.ConfirmHost]). Rules
// fetch tickets and do not use them afterwards. One of these tickets is valid for a year, which is the longest ttl.
//
// # What it books
//
// [Config.Booking] allows rules to book. [Booking.MaxTotal] limits the sum of all prices, cancelled bookings included. Rules
// book only an offer that can be cancelled free of charge for a day. CheckAvail confirms that right before each Book. The
// guests have made-up names. A run makes three bookings, one of them with two rooms, and more if the service accepts a Book
// that it should refuse. A journal on disk names each booking before it is sent.
//
// Run cancels all bookings at its end, also after a panic or the end of ctx. Before the first rule, it cancels the bookings
// that an earlier run has left in the journal. [Cleanup] does only that. Cancel needs a supplierReferenceNo: while an order
// has none, nothing more is booked. An order counts as cancelled if its voucher is cancelled, or if it keeps the status that
// Cancel returned.
//
// # What it shows
//
// The evidence contains no secret, no token, no link to a document, and nothing about holders and guests. "[masked]" stands
// in their place. A broken rule has a curl command that repeats its last request, unless the request books or
// cancels. The command reads the token from the shell variable TOKEN, a secret from SECRET, and a User-Ref from USER_REF.
package probe
