// What renders the documentation as a site. It has a module of its own, so that nobody who builds Farrier gets what it requires.
module github.com/farrier-dev/farrier/hack/site

go 1.26.0

require github.com/yuin/goldmark v1.7.13
