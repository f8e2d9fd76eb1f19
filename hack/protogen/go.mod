module github.com/farrier-dev/farrier/hack/protogen

go 1.26

require (
	github.com/bufbuild/protocompile v0.14.1
	google.golang.org/protobuf v1.36.8
)

require golang.org/x/sync v0.8.0 // indirect
