// Package alarm holds alarms about the identity of machines: another client requested what is for one machine alone, or a report
// does not match its machine. The boot server and the report intake raise alarms; the Server controller shows the newest one as a
// condition and an event. Alarms live in memory: the condition outlives the process.
package alarm
