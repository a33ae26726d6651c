/// Telephone numbers on libphonenumber.
