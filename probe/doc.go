// Package probe tries what the document of the Hotel Stays Distribution API promises, and finds out
// what it leaves open, against the test environment of an account.
//
//	report, err := probe.Run(ctx, probe.Config{BaseURL: "https://test.example", Credential: cred})
//	...
//	client, err := hotelstays.New(baseURL, cred, hotelstays.WithServiceFacts(report.Facts))
//
// A [Rule] is one promise, or one open point. [Run] tries them one after another, and the [Report] has
// a [Result] for each, with the requests and answers that it judged. [Broken] is what a sentence of the document
// forbids, [Weak] what it allows though clients suffer from it. [Test] does the same as a test
// suite with one subtest a rule. The command hotelstays-probe does it from a terminal.
//
// # What it does to the service
//
// Without [Config.Booking] the rules only read. They keep to a tenth of the rate limits, and wait as long as a Retry-After
// asks. Three things have to be allowed: to exceed one rate limit for a second ([Config.Burst]), to
// wait for long ([Config.Patience]), and to probe a base URL that does not look like a test environment
// ([Config.ConfirmHost]). Tickets that rules fetch are dropped; one of them has the longest ttl, a year.
//
// # What it books
//
// [Config.Booking] lets rules book, within a limit of money that counts every booking, the cancelled
// ones too. They book only what the offer says is free to cancel for a day from now, checked again right
// before each Book, under names of nobody, and cancel them: three in all, one of them with two rooms, and what the service accepts though it
// should refuse it. A journal on disk names each booking before it is sent. Run ends with cancelling all,
// also after a panic or the end of ctx, and begins with what an earlier run has left; [Cleanup] does that
// alone. Nothing more is booked while an order has no supplierReferenceNo, which Cancel needs. An order counts as
// cancelled when its voucher says so, or when it keeps the status that Cancel announced.
//
// # What it shows
//
// Evidence has neither secrets, tokens nor links to documents, and nothing of holders and guests: they
// are replaced by "[masked]" before anything is kept. A broken rule has a curl command that repeats its
// last request, unless that books or cancels, with the token in the shell variable TOKEN, a secret in
// SECRET, and a User-Ref in USER_REF.
package probe
