"""CPU back end: C text to functions, by the machine's compiler or a wheel's."""
