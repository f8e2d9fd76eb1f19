// Command protogen compiles a protobuf file of the current folder, runs code generators on it and writes their files beside it. It does
// what protoc does, from the Go modules alone.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: protogen FILE.proto GENERATOR...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(file string, generators []string) error {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), file)
	if err != nil {
		return err
	}
	parameter := "paths=source_relative"
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{FileToGenerate: []string{file}, Parameter: &parameter, ProtoFile: closure(files[0])})
	if err != nil {
		return err
	}
	for _, generator := range generators {
		if err := generate(generator, request); err != nil {
			return fmt.Errorf("%s: %w", generator, err)
		}
	}
	return nil
}

// generate runs one code generator, which reads the request and writes a response (google/protobuf/compiler/plugin.proto).
func generate(generator string, request []byte) error {
	command := exec.Command(generator)
	command.Stdin, command.Stderr = bytes.NewReader(request), os.Stderr
	out, err := command.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return err
	}
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	for _, f := range response.File {
		if err := os.WriteFile(f.GetName(), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// closure is a file and what it imports, each after what it imports itself, as code generators want them.
func closure(root linker.File) []*descriptorpb.FileDescriptorProto {
	var all []*descriptorpb.FileDescriptorProto
	var seen []string
	var visit func(linker.File)
	visit = func(f linker.File) {
		if slices.Contains(seen, f.Path()) {
			return
		}
		seen = append(seen, f.Path())
		imports := f.Imports()
		for i := range imports.Len() {
			visit(f.FindImportByPath(imports.Get(i).Path()))
		}
		all = append(all, protoutil.ProtoFromFileDescriptor(f))
	}
	visit(root)
	return all
}
