// Package blobcache keeps verified blobs of images on disk.
//
// The boot server opens blobs by the URLs that machines were given (blob.go). The cache is bounded. It downloads a blob once however many
// machines want it, and passes it on while it downloads. The last byte leaves only after the whole blob was verified, so that a machine
// never completes a bad one. A part of a blob is sent only of a verified one. A download that broke off, in this run or an earlier one,
// is resumed (resume.go); what mirrors send is believed no more than what registries send.
//
// Anybody can ask for a blob. What somebody is going to boot is pinned (pin.go): it is fetched before a machine asks, and it is the
// last to make room for others. All else has a budget (budget.go) and a share of the cache (store_reservation.go), is sent only when it is
// verified, and ends when nobody waits for it (abandoned.go). Nothing of it delays or evicts what is pinned.
package blobcache
