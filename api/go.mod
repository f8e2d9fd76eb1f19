module github.com/farrier-dev/farrier/api

go 1.26.0
