module tidemark.dev/emitter

go 1.21
