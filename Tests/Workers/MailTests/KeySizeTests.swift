import FoundationEssentials
import ServiceRuntime
import TestSupport
import Testing

@testable import Mail

@Suite struct KeySizeTests {
  private func said(of key: String) throws -> String {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let keyFile = try directory.write(key, to: "dkim")
    let file = try directory.write(
      """
      {allowNoKeys: true, broker: {url: "amqp://a:b@localhost/"}, templates: {directory: "\(Shipped.config)/templates/mail"},
       providersDirectory: "\(Shipped.config)/providers", lanes: [{name: "a", host: "smtp.example.com"}],
       senders: [{from: "a@example.com", keys: [{selector: "s", keyFile: "\(keyFile)"}]}]}
      """, to: "mail-worker")
    do {
      return try MailWorkerConfiguration.load(file: file, environment: [:]).warnings.map { "warning: \($0)" }
        .joined(separator: "\n")
    } catch {
      return "error: \(error)"
    }
  }

  @Test func `A key that receivers still take is warned of`() throws {
    let said = try said(of: Self.rsa1024)
    #expect(said.contains("warning: ") && !said.contains("error: "))
    #expect(said.contains("keyFile: is an RSA key of 1024 bits; 2048 are recommended (RFC 8301)"))
    #expect(said.contains("rsa_keygen_bits:2048"))
  }

  @Test func `A key that no receiver takes is an error`() throws {
    let said = try said(of: Self.rsa768)
    #expect(said.contains("error: "))
    #expect(said.contains("keyFile: is an RSA key of 768 bits, which receivers do not accept (RFC 8301)"))
    #expect(said.contains("rsa_keygen_bits:2048"))
  }

  // Made for this test, and used nowhere else.
  private static let rsa1024 = """
    -----BEGIN PRIVATE KEY-----
    MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBAPciCwGQRypFM+5L
    EXhiQzUkHlcfVlGgXxCnwEgH/oPYsuqtanJYDxnxa3WELrXRNz5BawWSqd4g+yre
    AjduelVGRewqWB5LxA42173QNi1UGkpVaTgelxhuf1LnAPVGYz/QFHvI0R4JKFey
    VaGFdrUh2NGLd6oxvMFgR2T46L2vAgMBAAECgYEAusmSRAZGo55Wl99JPxIV9g5s
    mDDpTxzFfZMs88SHDCQ3ZsTX1cDU+SjNra7Qlz+gX3+WYknt9iQ7crUGO9tWvaz7
    XVbMUuemzMAVF9grXE3wnK/2o/sA9FzUvsZDDVo/O2YhcDmAYiy6flH4m9PueCUb
    4IKEqRS+355sElmDfHECQQD8ty8kTGPqmt/LBmWWPKQ5XRfjZgsP4zzK7z3L+/sU
    lCuXMyKlLmg5wQsSce89MIHnu4a+Y6f92yXhyZzxwp/lAkEA+lhI73ZxIEVYhDj/
    bkqCCbslr/YnCyRcpddnup+pnbpAy7bCuvd66xdSWTcSARtlnmsIotvH8JeLsYik
    D0OGAwJBAIhN9WtKmImtRw+mP5ys0JbwEzZfj4/eLKf4KgifvGj5EhnXRtR5F1Yv
    PN2R/kuuoiJvDtoZvj45uVDzAWeUZdECQDF4ttkTh+F/srFWbivGb5IquJTgSPDr
    u59ORQJdQPCZeOqI8ExwUYsZrb1Ro64yUs+OiUNduVIzMHjh7sHRby8CQGwmBcXi
    8hUAev0warjaUSJAR0CxgOY/vEc2/L8/1YFMMACl/gLP6GVFep84DSj4lF62OAHe
    0Kocb5L4kYpaaxI=
    -----END PRIVATE KEY-----
    """
  private static let rsa768 = """
    -----BEGIN PRIVATE KEY-----
    MIIB5QIBADANBgkqhkiG9w0BAQEFAASCAc8wggHLAgEAAmEA0El8aY1ec6Dpj2EY
    oQ1F3Ng+B3dnPc3ZmMBavyzE5vXm5GoHyqJp7LEpr/Pzr77kpeC9nnorvAXtVhgz
    5llGQbo6z0RInV9+dN8rbnvTWrs64MOXwuy+ieYNcMyd6GyTAgMBAAECYQDJj+O6
    zZiysuxy2RaZfBu4jPbyCMW7FILXhIYM7Uka7KplLoqduLBi4ksiQCT5VPN2fnjh
    fAf5+FfnjmAElo9+sv+sJZFYx149g37bN/NIvL/+YISwlSQWw/7+zBa+jCECMQDx
    50Edpyx+id1/TiowYF6D4PHpI0cGb1zfAk3pc9QupqRyvB2TDVHPM+ymx8LRF6MC
    MQDcbL1RWNeRu8howbNAt5kb8zrhKLS1bEYzfWZxizCMUq61fVn2i/uv3ZDmdLWn
    ZlECMAvOzPfklCBtHFm9eAO6gIKRdV168lmXEAJ2u1Tc6YuJaNeM5SirasXhc/jE
    IXdRXwIxAJc/QfRUeq5z5IMFDmOE11lXX3pp/P1TyyO/kxCsCmbuwRSla5qB2PSG
    msuXH6I60QIwdEcr5AacAiGcbAmVy5FWOfMC38P2bjWNE0608HREPpptX3K8xXvk
    S8g9F7pfztTi
    -----END PRIVATE KEY-----
    """
}
