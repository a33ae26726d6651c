import TestSupport

/// The keys and texts of RFC 7515, appendices A.2 and A.3.
enum RFC7515 {
  static let payload = "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}"

  static let rsaKey =
    #"{"kty":"RSA","#
    + #""n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0B"#
    + #"m4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5"#
    + #"z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7"#
    + #"aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","#
    + #""e":"AQAB","#
    + #""d":"Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2N"#
    + #"XOoAJe46sui395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M"#
    + #"_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x"#
    + #"_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ","#
    + #""p":"4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw_Py"#
    + #"5PJdTJNPY8cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV5z-y2XDwGUc","#
    + #""q":"uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7C6ul7TjeLQ"#
    + #"eZD_YwD66t62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdc","#
    + #""dp":"BwKfV3Akq5_MFZDFZCnW-wzl-CCo83WoZvnLQwCTeDv8uzluRSnm71I3QCLdhrqE2e9YkxvuxdBfpT_PI7Yz-FOKnu"#
    + #"1R6HsJeDCjn12Sk3vmAktV2zb34MCdy7cpdTh_YVr7tss2u6vneTwrA86rZtu5Mbr1C1XsmvkxHQAdYo0","#
    + #""dq":"h_96-mK1R_7glhsum81dZxjTnYynPbZpHziZjeeHcXYsXaaMwkOlODsWa7I9xXDoRwbKgB719rrmI2oKr6N3Do9U0a"#
    + #"jaHF-NKJnwgjMd2w9cjz3_-kyNlxAr2v4IKhGNpmM5iIgOS1VZnOZ68m6_pbLBSp3nssTdlqvd0tIiTHU","#
    + #""qi":"IYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd-DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd_QJQ3ydy5cY"#
    + #"7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp_gh6A5603k2-ZQwVK0JKSHuLFkuQ3U"}"#

  static let rs256 =
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19"
    + "yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt"
    + "_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb"
    + "1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI"
    + "8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"

  static let ecKey =
    #"{"kty":"EC","#
    + #""crv":"P-256","#
    + #""x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
    + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","#
    + #""d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}"#

  static let es256 =
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19"
    + "yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU"
    + "1Q"

  /// The key of appendix A.3 as Apple's developer pages hand keys out: PKCS#8.
  static let p8 = SampleKeys.rfc7515

  /// The same as `openssl ec` writes it.
  static let sec1 = """
    -----BEGIN EC PRIVATE KEY-----
    MHcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49
    AwEHoUQDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72b
    focs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
    -----END EC PRIVATE KEY-----
    """

  static let publicKey = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
    6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
    -----END PUBLIC KEY-----
    """
}

enum BadKeys {
  static let underPassword = """
    -----BEGIN ENCRYPTED PRIVATE KEY-----
    MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhtnoqsOOZKjAICCAAw
    DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEBYD0SvToZaOjjFV5JoA+R0EgZBk
    1wQ13s8h3bKTuAVu6bmZKLTJ5hJTTmCV0A4EDgHWHKMoq5YgfFKvR9mq151MFp5a
    9+bbxAzsi+sIGOpLbz46c/nvERwFoM/ngBmG3wfjUG27PH8u97DaTFcHN1fla8Ly
    7rPyrohk73ZgXmHi03G0Imk8Enb6AyoaG13shHvazTpwNfzMzC+R47EskHFu9Lk=
    -----END ENCRYPTED PRIVATE KEY-----
    """

  static let p384 = """
    -----BEGIN EC PRIVATE KEY-----
    MIGkAgEBBDCQ2mfwRUPZhvNMFI7GhhW/kw0XCMnJgSCoMNOEPqfBBhNcjd8LBXaW
    HjYlW/kf5ZSgBwYFK4EEACKhZANiAAQ4YVpSz8T8oAbh+H/A5TYEAUTsuOUbu92t
    +SmcnypdY41L0sSkMS1ZmTp+K6+eAM5fr4ZxahmZXul/Yr4wTy34lTfLgTGVpO0z
    rZZSVUrVM3xkAH5rbPbI5O+jZGpqVeY=
    -----END EC PRIVATE KEY-----
    """

  static let rsa1024 = """
    -----BEGIN RSA PRIVATE KEY-----
    MIICXQIBAAKBgQCvPrrZOX44DQxktALq99TUC0IhgTdQEvu4wbZgVUL+FN4FGu7F
    kgoBjMZk7lGchPNdkmKQbrSVJCH5H9iqcuZR37L1U290Guw7mC2ezSSSNKoS0njX
    bDQF7ZtfSwsS8EHJ+XIHS53qlChWvHb66ZAFg50KaAtexOw8usA9jsQclQIDAQAB
    AoGAeOd/g+TtlwAxn7yuEqw/krfdvT3oCn++WZ6UE+xfFusQrlcBix+RdbZJHlNp
    zOHRAarAA8PNJORT6Au3sQkqqwd1utP2mFd9mTenBZCiDGQQI/fyfEHDJklFtBy4
    x3lo0gaTkKViCFgSZsUUFsSQRGExzs8F+fGuvhELqff7WlUCQQDcy5UoCgNbADBv
    U9pNsXrZ4+WIwNzMbk885C8AtDtVOI/5GOR+hEV74YhzAhge7KaNeNoG06UsFEIl
    O5M9dGlrAkEAyy/hKMRKneInbX5Q+zgzyxobmZIWvUkBdruV8MxBnHMoNxye9y+6
    RP7G3I6+kDxx2MW4oI7QyMGDm340fy0R/wJAOVLlw8JtwpeW+6Bioh89DQr9Efc4
    nB7blayMg3tHmEWaI4sR78L5o0MXwPw/NPAuAbbprDIQxRPxZGdGQANURwJBAJ1h
    8cqM+KsAgL+8BugAKYYZK+WxFbH6OYsJU+PXor6XKEBACBW5P1Ov8MLoQk0gtKJO
    zGp5FNlboyAvCmSzuWsCQQDQRivUByM/UMcXwRxYgmdoOf/DhPm+3vJc4Eq4jCs2
    X1r+Uhk7nsm2JU3SFukhlznSW0ctNxj7XirFvK6FBczN
    -----END RSA PRIVATE KEY-----
    """

  static let ed25519 = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIH/0wzDUk8A7z4RkrKqkD8T7IxRYzbXpMSw8oAutXcDX
    -----END PRIVATE KEY-----
    """
}
