@testable import PasswordHashing

/// Hashes that Python's hashlib, bcrypt, argon2-cffi and cryptography made.
enum ImportVectors {
  static let passwords = [
    "plain": "correct horse", "zero": "a\0b", "longest": String(repeating: "x", count: 4_096), "empty": "",
    "accents": "pässword✓",
  ]
  static let salts = ["salt": Array("salt of 14 byt".utf8), "sixteen": Array("0123456789abcdef".utf8)]

  /// Parameters, password, salt, hash.
  static let all: [ImportVector] = [
    .init(
      .keyed("HMAC_SHA512", "SALT_AND_PASSWORD"), "plain",
      "v/q7f69h/C5mhWXD4veGAwDUYyotnv1Gm72qPz3jOhEESR2TFym9+1FOYbjaUZhTxnx7Kd1nyqq156P7cmp2fw=="),
    .init(
      .keyed("HMAC_SHA512", "PASSWORD_AND_SALT"), "plain",
      "9uxM0OYG+ZYVWB6x2QeMKRf3BoK6BfXoOMJ5CsF+aWMkqe/aSqU1jXvqA82kJqOmJ7FJYP54B6TPZqj0wXfyaA=="),
    .init(.keyed("HMAC_SHA256", "SALT_AND_PASSWORD"), "plain", "QH7vzs2mcM0hjy1OkHoh6+Wnzqtq5XurxHRrrHqLxjw="),
    .init(.keyed("HMAC_SHA256", "PASSWORD_AND_SALT"), "plain", "qXsYcZwirjTnZi48jFcowgUxdAES0aP8YbGwCt5N0vY="),
    .init(.keyed("HMAC_SHA1", "SALT_AND_PASSWORD"), "plain", "g5LoHloBFpkLDdY1HbgM0lTXDGw="),
    .init(.keyed("HMAC_SHA1", "PASSWORD_AND_SALT"), "plain", "2oFFBRWNKn4hJ7sClYjO79UaUAI="),
    .init(.keyed("HMAC_MD5", "SALT_AND_PASSWORD"), "plain", "fvbuUGJ3ccA12CywTwhHkw=="),
    .init(.keyed("HMAC_MD5", "PASSWORD_AND_SALT"), "plain", "FM0n8VV2l2jRHCvRPN/L9A=="),
    .init(.rounds("MD5", 1), "plain", "XDez26DFJhtwOYM83Ftqzg=="),
    .init(.rounds("MD5", 5, "PASSWORD_AND_SALT"), "plain", "f/st3ASUxxKCbKbvlF3JGA=="),
    .init(.rounds("SHA1", 1), "plain", "lZ8a9PPKjVz/2QS4AOI6E+1ULX4="),
    .init(.rounds("SHA1", 5, "PASSWORD_AND_SALT"), "plain", "6Ljh1A/A87+BSsXM2VyQGlkVVoY="),
    .init(.rounds("SHA256", 1), "plain", "JpRTW9I2DGuPyv7qK3g3GPCKXxvcbEH1vDlUzIDbcXM="),
    .init(.rounds("SHA256", 5, "PASSWORD_AND_SALT"), "plain", "nLoyXw6hFfL1qIDGm5Cb9sKV/SwUBhATgKfeDH/CkC4="),
    .init(
      .rounds("SHA512", 1), "plain",
      "YaP7er//vpAzFaIQBV29j6jgnsY0S/gRt6S+rBFZsTXzBQlpWxjE+vikBfRrnSkaeg0ukB134Td01kX25ElONw=="),
    .init(
      .rounds("SHA512", 5, "PASSWORD_AND_SALT"), "plain",
      "WSkS0UxaFuZL0zwjgnNcrikGxpClWkyThdWWGBOWvMZgWTE/Xkq/qZ9zbKO33wwqdBk/qYsDJyhIfDBMRZPj7w=="),
    .init(.rounds("MD5", 0), "plain", "XDez26DFJhtwOYM83Ftqzg=="),
    .init(.rounds("PBKDF_SHA1", 1_000), "plain", "xhVBW9/fZUNN8BFHTYcl7ve47Tw="),
    .init(.rounds("PBKDF_SHA1", 1_000), "plain", "xhVBW9/fZUNN8BFHTYcl7ve47TzMQxTb3ZPBVNLV41U="),
    .init(.rounds("PBKDF2_SHA256", 1_000), "plain", "13CKIZc31setu/dKIPy9ViIi2AxGwrWT4px8fTFv1aM="),
    .init(
      .scrypt(1_024, 8, 2, 64), "plain",
      "ApYaN3mW4+gpiND0aXj8AU9yjI69OgGkQV5OGr2RzQtibcOs8GAlVpC32sR94i4p7dtGFjcugTSijYN2Dec+5w=="),
    .init(.firebase(key: "MDEyMzQ1Njc4OWFiY2RlZg==", rounds: 2, memoryCost: 4), "plain", "xpQh0Jfawj4f2gQxr1vPqQ=="),
    .init(.argon2("ARGON2_D", "VERSION_10", lanes: 1), "plain", "DDy8C5vNx99/mNJQrr/dNzv0gdXb35xr"),
    .init(.argon2("ARGON2_D", "VERSION_10", lanes: 4), "plain", "yT3Hcj15UbGWgv2Bn/O/i7CrBTtRCRHP"),
    .init(.argon2("ARGON2_D", "VERSION_13", lanes: 1), "plain", "Ns6LWKDropFwcecj+J0x/lWZQ0ccGfzh"),
    .init(.argon2("ARGON2_D", "VERSION_13", lanes: 4), "plain", "rHXEERDr2ZHP1bLe0Jqa3+lm6w0a++pv"),
    .init(.argon2("ARGON2_I", "VERSION_10", lanes: 1), "plain", "CgzxVRMxw1ginphxkd+LqUXLs9rHjIeq"),
    .init(.argon2("ARGON2_I", "VERSION_10", lanes: 4), "plain", "RfwhG3HL4KUXOVNIVi2Fomtb6n2E7B2E"),
    .init(.argon2("ARGON2_I", "VERSION_13", lanes: 1), "plain", "qfNRdUWsQS9AvMQYbbtIrqT26L/B1UcV"),
    .init(.argon2("ARGON2_I", "VERSION_13", lanes: 4), "plain", "g6bbB30VX31mZcOEzoSBqFEVTyphKAfL"),
    .init(.argon2("ARGON2_ID", "VERSION_10", lanes: 1), "plain", "BIW32uA+7cKYGfT/sdPuvSrqcUlWpjQL"),
    .init(.argon2("ARGON2_ID", "VERSION_10", lanes: 4), "plain", "eijldD6xdmxiGQ8cDn+x8dU3YVAxeF7J"),
    .init(.argon2("ARGON2_ID", "VERSION_13", lanes: 1), "plain", "QhTjq/wRe4Xn+YRaCmBLP15T0BaO5tGP"),
    .init(.argon2("ARGON2_ID", "VERSION_13", lanes: 4), "plain", "1tz4aOfHhvXcUlzeQglW3Y9x4sFU/s2G"),
    .init(
      .argon2("ARGON2_ID", "VERSION_13", length: 32), "plain",
      "dPtrHTEawLtMiR9+/XloAkXZ+EtyrY+bvmHIbiufhk0=", salt: "sixteen"),
    .init(
      .keyed("HMAC_SHA512", "SALT_AND_PASSWORD"), "zero",
      "NRYO2kY8VC+85He2rWZEQgOgHu+1UMyjSqKzUljAN5EsuIIOcwl+KcY6cSI9exWfpo3MABnJUwA3NrAGXmfDog=="),
    .init(.keyed("HMAC_SHA256", "SALT_AND_PASSWORD"), "zero", "mGj011g4ayCijwmLDe33qY83guVrXnWaLxXioqihFOc="),
    .init(.keyed("HMAC_SHA1", "SALT_AND_PASSWORD"), "zero", "4hzgnRl2w06FvcVTx/dMRxrdN2s="),
    .init(.keyed("HMAC_MD5", "SALT_AND_PASSWORD"), "zero", "xloEtOj+mEl/hFF+41QNsA=="),
    .init(.rounds("MD5", 5, "PASSWORD_AND_SALT"), "zero", "aDo/wd1E12e0Kpdi+mvxdA=="),
    .init(.rounds("SHA1", 5, "PASSWORD_AND_SALT"), "zero", "3z8UrVFlAjwkw1NjzIbdgQyzTR8="),
    .init(.rounds("SHA256", 5, "PASSWORD_AND_SALT"), "zero", "70JX8iRuQO48QaDaLmHTlK/W22XkN4+cU1Nnlp/6ZvY="),
    .init(
      .rounds("SHA512", 5, "PASSWORD_AND_SALT"), "zero",
      "VhBFVdBL8Z9OftE+XXNKXFWeVr0u4VqF8AP2KpuYH6bR4lZvnFNBtBx4YI45iVTB5yCSQ7WHEYrnYuoFnNjU3g=="),
    .init(.rounds("PBKDF_SHA1", 1_000), "zero", "r4hB70ZBNq8cwtxH9WWEDfQGO2F15Zaty5DBtbAVutA="),
    .init(.rounds("PBKDF2_SHA256", 1_000), "zero", "m2b4vCy1N87k1laZVC6Gwqg0poUNtWo0SoQit0d33WA="),
    .init(
      .scrypt(1_024, 8, 2, 64), "zero",
      "q+p6mswjMo1+ooJbCGN4M/+PJw+QbY2IH1yXZfM2cfttRV2OmQ01Ejnl07sfy6y+UpdAczanFSMGW5MD9L1G0w=="),
    .init(.firebase(key: "MDEyMzQ1Njc4OWFiY2RlZg==", rounds: 2, memoryCost: 4), "zero", "58/4AG1cEc5+KhvUD8wqKQ=="),
    .init(.argon2("ARGON2_D", "VERSION_13", lanes: 1), "zero", "RNHeTPhEIq6t0J0N7gENERC9wThoAOJm"),
    .init(.argon2("ARGON2_I", "VERSION_13", lanes: 1), "zero", "8V/odGGf89U/Y04O74E849SLdst9iNas"),
    .init(.argon2("ARGON2_ID", "VERSION_13", lanes: 1), "zero", "8jVxFAzM79Lplr38FP5paJJrL2QzKqef"),
    .init(
      .argon2("ARGON2_ID", "VERSION_13", length: 32), "zero",
      "jkmmiz+7KspXLAGFNUKh2gqxVbvuZygcxa+RKJ6Ouys=", salt: "sixteen"),
    .init(
      .keyed("HMAC_SHA512", "SALT_AND_PASSWORD"), "longest",
      "pAxvjYasqKW8ZVNmnovealz2ENbm/xSoHnwdEuE2aeYXFr7uOwQeaUAc5yXyzt6IDxdx/N1wKitoFq614egsiA=="),
    .init(.keyed("HMAC_SHA256", "SALT_AND_PASSWORD"), "longest", "ejVesZcYywwv1NGGqkNEY1+q//qDzCIHYZqIhNqZ/4I="),
    .init(.keyed("HMAC_SHA1", "SALT_AND_PASSWORD"), "longest", "GkNzATCiL5tWAF0wwpzkc3DmABs="),
    .init(.keyed("HMAC_MD5", "SALT_AND_PASSWORD"), "longest", "GhMnOtOwITJ6SdPYsVDStA=="),
    .init(.rounds("MD5", 5, "PASSWORD_AND_SALT"), "longest", "rLiOV/upOm5erdrFQefn7A=="),
    .init(.rounds("SHA1", 5, "PASSWORD_AND_SALT"), "longest", "aNQFzYdoJw1jgnvK0ijGmgFOyNo="),
    .init(.rounds("SHA256", 5, "PASSWORD_AND_SALT"), "longest", "ePrlUh0gnHDbsXsyILbh5IVrj78CiCS5ebDIC1UoQME="),
    .init(
      .rounds("SHA512", 5, "PASSWORD_AND_SALT"), "longest",
      "ggmUJXTDQJ2YQMQ+rFMDCb/X/H4eUKI+wV4iP/0C/eJk9EeiNYP3skWEnM3kLEd4m1sPfTNqVeYqx3ZxK02OMA=="),
    .init(.rounds("PBKDF_SHA1", 1_000), "longest", "97rngN6jIMdjbSYaRR5Corl9ToIX1UA+C9M/AuRBLnw="),
    .init(.rounds("PBKDF2_SHA256", 1_000), "longest", "dkSp8j7FNtuIBhl/B51Ok3eIkeH2I4TfOVKc6s1qy1Y="),
    .init(
      .scrypt(1_024, 8, 2, 64), "longest",
      "ehDR+n/tf6gmZeMQAwGqYSa1/pxUsw4AWuEXH4fUNyO7vy1+RWjQHyimYhjs2qmc8lUXgk3SWTlveKX2p7Ywxw=="),
    .init(.firebase(key: "MDEyMzQ1Njc4OWFiY2RlZg==", rounds: 2, memoryCost: 4), "longest", "IjcHXYzY3BVN3424NU+yKw=="),
    .init(.argon2("ARGON2_D", "VERSION_13", lanes: 1), "longest", "3TmLo/aIFXK7L30vlQO/lCMEvE6r1HJ/"),
    .init(.argon2("ARGON2_I", "VERSION_13", lanes: 1), "longest", "86vNym7vSmcHWZFbSUUhkMnewT7vGT9K"),
    .init(.argon2("ARGON2_ID", "VERSION_13", lanes: 1), "longest", "u6/C4+RKNfRYUB0XEvW99j4gzahL/2bF"),
    .init(
      .argon2("ARGON2_ID", "VERSION_13", length: 32), "longest",
      "uGSEcAWmE4bPNlxPHnf6T61guJ/ut4pE1mr8M+9LUmM=", salt: "sixteen"),
    .init(
      .keyed("HMAC_SHA512", "SALT_AND_PASSWORD"), "accents",
      "visQoFr7qPPi/FSmWZ+2+sMJWP8uaDMphx0I6nTxQ7/T9nNEdLnz3g0CUedp4e3y62zuZcVhubMWUNjf78Yy+w=="),
    .init(.keyed("HMAC_SHA256", "SALT_AND_PASSWORD"), "accents", "n8+jAm/J9bS3Dlo7q8EEHB7knCJFOsvoxPRDjdqk2R8="),
    .init(.keyed("HMAC_SHA1", "SALT_AND_PASSWORD"), "accents", "rcUdkyOLhBCp7ePPBDcAoMiSXYg="),
    .init(.keyed("HMAC_MD5", "SALT_AND_PASSWORD"), "accents", "l1GHDYPnJECPbQWYAxWzLg=="),
    .init(.rounds("MD5", 5, "PASSWORD_AND_SALT"), "accents", "acgLXVHXY42UQAXeMX40jA=="),
    .init(.rounds("SHA1", 5, "PASSWORD_AND_SALT"), "accents", "ZqSFwACmFoVhrwX81tKLIdPRw10="),
    .init(.rounds("SHA256", 5, "PASSWORD_AND_SALT"), "accents", "r9lYq6aMhA/RTVjZLPA93RVhI/n/iD3oTWm5BNHVGQk="),
    .init(
      .rounds("SHA512", 5, "PASSWORD_AND_SALT"), "accents",
      "d+Os659POsbTu/P6DAg8QunXUK3cxaec3L18z5FVEMcQtXVywEDHeyFNQz8nge8hmepNsEVL7ahW03pcbHliqw=="),
    .init(.rounds("PBKDF_SHA1", 1_000), "accents", "NFravL5QWGOPjt7H+tk7/IJLe2VOfKkVTR6HXkc4R+Y="),
    .init(.rounds("PBKDF2_SHA256", 1_000), "accents", "Seh9k7n88UFs+XIK1/q6DkxpC57Qnawqs8vcEA0wrlw="),
    .init(
      .scrypt(1_024, 8, 2, 64), "accents",
      "+TKCN5kOr7NEuxw17zpn6d3zLoAJdJpSPrPCUqutYDPMpI81uAPa4mmAeixtWQBrNBlyKI19/Aqo5RHZDMTm1A=="),
    .init(.firebase(key: "MDEyMzQ1Njc4OWFiY2RlZg==", rounds: 2, memoryCost: 4), "accents", "Zwwx1yRbSAPqZ37f2oaoJg=="),
    .init(.argon2("ARGON2_D", "VERSION_13", lanes: 1), "accents", "v3FXL0aslME6oJEaz0zIC1I7G2ponUoF"),
    .init(.argon2("ARGON2_I", "VERSION_13", lanes: 1), "accents", "QpPDmxVUllOMAQQUq7gFlOjGHXckEIE3"),
    .init(.argon2("ARGON2_ID", "VERSION_13", lanes: 1), "accents", "Tr6nDjRV9EnGNy+7CnNlLO0l3isXiWTM"),
    .init(
      .argon2("ARGON2_ID", "VERSION_13", length: 32), "accents",
      "ztYEN84GIkrlX1uVEw7SBgaA1txArqw3+6orWZ7zWrc=", salt: "sixteen"),
    .init(.argon2("ARGON2_ID", "VERSION_13", lanes: 2, data: "ZmFjdA=="), "plain", "uEI0xfTaDOdl/z3vQlEUvveQPg3lLqcr"),
    .init(.bcrypt, "plain", "JDJhJDA0JGxGWExHUEVQWWhNeTRBa3IxTFgzbU9Qb0JHaXJQWXBSZHEvamJZSFNTSWN2Q1NFdzF6MUVx"),
    .init(.bcrypt, "plain", "JDJiJDA0JG9hc0kxYlM0MDhpaFNLTUFPY01jUE9EVEN0NUFYSzhWZi5CTE5FbzRYY21XZm9Rd21sUGJH"),
    .init(.bcrypt, "accents", "JDJhJDA0JEJ1RlhMazZqZ25vc052QXQ3OWVXMnVEQ2N6Z090TEVqWlIxdVFYTk40MlMwZC9zZlVrR1gu"),
    .init(.bcrypt, "accents", "JDJiJDA0JGh6ZFlvRkgvL0xCcko2TU9EZFN3a2VzRGtZSjYvYmhuYmR3Rkd1YmFCdW5XZkJYeXNXMlpx"),
    .init(.bcrypt, "empty", "JDJhJDA0JFlBd01ia3pBUDlXU1NFOEJ0WHlHWE93VS5nWk5UT0tVU2xYb2NhYnY3cTY4Yld3RWc4cW9L"),
    .init(.bcrypt, "empty", "JDJiJDA0JHBQVFliQmdETnhxRlhLR3BIS3djUXVDYTlWYmZ5bGFsSHRUNVQ5VXRNVVJQeU1Tb0VMWHZP"),
    .init(.bcrypt, "plain", "JDJ5JDA0JDRFeGo1NFBtWFREOXU3SC9hZmRhMWVmVGVsY1ZIUVA3QWRXS2xFUzVYWUt0YUUvVVNHOVND"),
    .init(.bcrypt, "longest", "JDJiJDA0JDhZdW4ualV1Y3AzT1Q5ME1YRU5mU2VjNWkzSHJXRXQvMFlYSWVJVjlFS3FNLlJBai9BM0J5"),
  ]
}
