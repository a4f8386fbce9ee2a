"""Log formats: files of records in, requests out, exactly as logged."""
