/// Stand-ins for the providers that validate as strictly as they do.
