/// Private keys, for tests only.
package enum SampleKeys {
  package static let p256 = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgEjSl8c6yRRS0oJDi
    h1lZwTZA5NJZ5NYU+REHSfVNVf2hRANCAAR1vbteLvxlEpYn9/z3C3u2mL8pOsGb
    sh8rmZghQickqJp+tgzqo5LDh6hU5bIJz5rWWF2qRbig7fgCkoQy+Red
    -----END PRIVATE KEY-----
    """

  package static let otherP256 = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgN23lxZ8BPARcfz8l
    5u7AZAR8Gg/y4uqCd6d73TDGyuGhRANCAAR8O6wrCjxUT+qhUdM0ODhohs/4lmoo
    Pg5tW8eFOK66KwSPgaTTIz8ANYG1vAmjLAdNt9x7h9EfBsZ6x8j7AYiL
    -----END PRIVATE KEY-----
    """

  /// The key of RFC 7515, appendix A.3.
  package static let rfc7515 = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff
    H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp
    7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt
    -----END PRIVATE KEY-----
    """

  package static let rsa = """
    -----BEGIN PRIVATE KEY-----
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCK1Ys30CFaBl4B
    fePNl5Qt6GDQV6nBh8Ao7jERIDwoV+l0XRKpbZe9sGD2D3RF/7y9IIkmowZHPWKB
    HIYIn1a8MxOuX7Gp/atDQh8KGDTPWZVkt0b8AcoBoXCH3NGMZAD6kQCbXVNO9FFl
    VtkRfm6kZlX5GlVJM3AsEEJVfLw0S6n88C1wHgHtOVkzJeueJAJXP8//6JlDkOlu
    FsB4oe1btZWGzlFhp47DYSEaREBBS0EPvEg33kl5q2GJPMjshJ+OtGnHN0S9xW7j
    M6kyQNAGcKTTBMLAJPCMjcpGWfEcY0z7FkVDz3UGNyZL6pFHYogF1VKqQl5nCOo6
    kMPloVSNAgMBAAECggEABDdiCAA70xEYb8Z+pvLF3vMMuvxpPRBosercoJ7a/4VT
    +LhkOwhcsGJtP2vOuzAoxOb6Y1WreM8QxnJdpmC4cJ9t0euOvhE5z0wbHI0JpYvH
    RrduN3Rnyc7jrQH0IeWzmz3Qx+cjWDrWnKjw5LVzRMOQNDAsNjySrok739QZnyOV
    rFJe8UrFVWSPhltjgHR0zhoQBrs3Nmf6pVs8NzGtbr2z2oBNiOMZSKAG6mJ2OmLz
    HHjltSBR/3khtadI7LJplefdSIJ2XQYwwjnrofHSiC0TTsoBfe8yjS0g/IB/yoCB
    TNHa9T+EJbTGV60/M7ypYALYIhHnjreBf9y1MyzToQKBgQDCGjyOSWaPSZk9mXj1
    L6DvLtPSJJC7VBjouH0oHU3icsLaFzz60t15lhJN0NEaezcvHZQSDFNr809AS4bV
    xZg1pdAwri6yRbDvvSiZPMmYnTQKJ1t7iHuladJBO9KetU7JCj7bRP6rNpRSJEac
    3YewCDQowISjLOw9sOw70JgyaQKBgQC3G2sLiXL7xY1h7I/ekjBAfVREEWBHBmyt
    Z7aiCK5iD8ZH/jtfELOYRyntWBtkQrCf2NxCQetF0hnzsZl+McUl0/Q7yyoSr2bi
    pe82ZCaCZdB/70ah0VGC0ttTqvFwoOv7bnElQVZ2DL3KR1WN0X+i9HgdZ6gru+IU
    lpBfc+mEhQKBgFdRSjCQII0RBNjLM7jI5lLy8+MzA9Dhshru846aMDFQgwttLMeB
    GJTbx/wtlgOdrmOJoNTFqrmDSQGZeFyueRyZLSDZGrSj2UbgB2V4DRCUl5aBwgu+
    iDEPe8BQ0x0GXxzdeQ1W6mHHOc4B96oVljbAWgaDJKfrS5MtBfiai/0RAoGAKBtu
    WAmUUQeVj1R0sujMfuO02HAB6azDkzv7agSCxeH0qYJLWOhcnkdALMe2wEBHVcv3
    et/be+CoZJOLLnQSXdXOUmaO4abf31c/TWekc71/bPZpPzqNIx2yguIXnnbxGZK4
    X9Ou746c57i2SakQzw3DXZV95Y5y19We6/mEtc0CgYEArWCT08WsfowCGd+WNmqU
    kGNv8JD5wPHZmTvaKtlsVp768Z9+DLgGykd19QJ5C6DEMxlcm1ITzaWMzWkgmlEJ
    7Pe5gUYvb6xdbYKlVxVkAA0PbL6goEyXdmN1S0YRk5In6tygixNGhTvN7x/GLDMw
    WcttsrHKLtbb/mSHS8kDC1I=
    -----END PRIVATE KEY-----
    """

  /// Its public part is that of RFC 8463, appendix A.
  package static let ed25519 = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
    -----END PRIVATE KEY-----
    """
}
