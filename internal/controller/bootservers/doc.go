// Package bootservers is the controllers' side of boot servers that have no Kubernetes (package bootstream): it takes what they tell.
//
// A boot server speaks for the machines of its own site alone, and its site is what the manager's table says for the name in its
// certificate. Whatever a message says of a machine of another site is left out, whoever has written it: of a boot server that is somebody
// else's, the rest of the message is as good as ever, and one that is not believed at all would repeat it for ever.
//
// Texts are cut and cleaned before anybody keeps or shows them, times are never in the future, and nothing is remembered of an object that
// the boot view does not know. So a boot server whose credentials were stolen can fill neither memory nor the conditions of others.
package bootservers
