// Package controllertest drives controllers by hand, for tests: no manager runs, nothing is
// waited for.
//
//   - API (api.go) is a Kubernetes API in memory that gives objects UIDs and generations as a real
//     one does, has the indexes that the product registers, counts what is written, and fails
//     when it is told to.
//   - Settle (settle.go) reconciles one object until nothing is written any more.
//   - Rack (rack.go) is a fleet whose BMCs are fakes. It lives in a bubble of testing/synctest,
//     where "the fleet has nothing left to do" is a thing that can be waited for.
package controllertest
