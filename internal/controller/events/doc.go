// Package events sends Kubernetes Events about objects. Whoever follows an object reads there what has changed; nothing reads an event
// to decide.
//
//   - Send cuts a note to the length that the API accepts.
//   - Budget bounds how many events all controllers of a process write: each is a write to the API.
//   - Differ reports whether a condition says something that it did not say before, which is when it is worth an event. It is the one
//     place that compares the messages of conditions: with what was said last, so that an event is sent once.
package events
