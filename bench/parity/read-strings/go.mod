module vmcp-admission.bench/parity/read-strings

go 1.26
