// What the tests of clients share. It requires nothing, lest it chooses a version for a client; each client has a module of its own below.
module github.com/farrier-dev/farrier/test/clients

go 1.26.0
