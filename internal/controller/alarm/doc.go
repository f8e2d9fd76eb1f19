// Package alarm holds what went wrong with the identity of machines: somebody else asked for what is for one machine alone, or a report does
// not fit what is known of its machine. Boot servers and the intake of reports raise alarms; the Server's controller shows the newest one as
// a condition and an event. It is memory: the condition outlives the process.
package alarm
