from lab.cli import main

main(["--gpu", "0"])
main([])
