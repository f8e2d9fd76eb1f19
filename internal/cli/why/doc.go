// Package why gathers the facts for `farrier why` (package diagnosis explains them): the object of a name, what it depends on, the requests of its
// machine from the operator address, and those of machines that nobody knows.
package why
