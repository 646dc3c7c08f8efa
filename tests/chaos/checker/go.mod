module c5c3.io/ovn/tests/chaos/checker

go 1.24

require github.com/anishathalye/porcupine v1.3.1
