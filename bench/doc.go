// Package bench is where the benchmarks are: a command each, described in the README.md beside it. What they hold Farrier to stands in
// docs/performance.md.
//
//	boot-answers/     what a boot server answers a second, beside a bare handler
//	fleet-idle/       what thousands of idle BMCs cost, some of them hanging
//	fleet-onboard/    how long it takes from a BMC's address to a free Server
//	recovery/         the same with the manager killed in the middle
//	rotation/         whether a rotation of all passwords locks anybody out, with the manager killed again and again
//	claims/           what a claim costs, alone and among a thousand
//	image-proxy/      how fast a layer is passed on, beside nginx and its registry
//	flood/            what a stranger's flood does to others and to memory
//	boot-storm/       thousands of machines that boot at once from one boot server
//	internal/origin   a registry with one blob and a limited rate
//	internal/site     a Kubernetes API, a manager and a rack in processes of their own
//	internal/child    the command again, as a process of its own
//	internal/load     a load generator over HTTP/1.1 keep-alive connections
//	internal/stats    medians and percentiles
//	internal/result   the machine it ran on, and JSON in results/
//
// They are not tests and assert nothing about time. Ratios are of things measured
// side by side in one run, in turns, so that whatever else the machine does
// falls on both.
package bench
