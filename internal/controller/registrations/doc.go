// Package registrations keeps what managers know of boot servers that join: package enroll's Store, in one Secret of the manager's
// namespace. Each boot server has a key there, named after it. What is kept is not secret, but whoever could change it could be any boot
// server, and in a manager's namespace Secrets are what is guarded best.
package registrations
