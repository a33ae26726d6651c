import CountersignTelemetry
import Testing

@testable import SMS

/// Requests that MessageBird's own libraries are tested with: `webhook_signature_test_data.json` of messagebird/python-rest-api
/// (BSD 2-Clause), each once.
struct MessageBirdVector: Sendable, CustomTestStringConvertible {
  let name: String
  let url: String
  let payload: String
  let token: String
  /// Reason to refuse it. `nil` for a genuine one.
  var refusal: ReportRefusal?

  var testDescription: String { name }

  static let secret = "36efdd1aace2e26cd490f0d951138253bef2f7c6d34d18981da781555cc4cebb"
  /// 2021-07-05T12:00:00+02:00
  static let now = UnixTime(seconds: 1_625_479_200)

  /// The beginning that tokens by HS256 share.
  private static let start = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJNZXNzYWdlQmlyZCIsIm5iZiI6MTYyNTQ"

  static let all = [
    MessageBirdVector(
      name: "no parameters", url: "https://example.com/", payload: "",
      token: start + "3OTIwMCwiZXhwIjoxNjI1NDc5MjYwLCJqdGkiOiI1OWEyNDRkYy1lOWFkLTRlMjMtOTc3OC0zNzFmYWEyMzhmNzIiLCJ1cmxf"
        + "aGFzaCI6IjBmMTE1ZGIwNjJiN2MwZGQwMzBiMTY4NzhjOTlkZWE1YzM1NGI0OWRjMzdiMzhlYjg4NDYxNzljNzc4M2U5ZDcifQ.6Fp0rVOsR"
        + "r1fj9S2GidXAfkmPVofKr8_RTffC6G6r2E"),
    MessageBirdVector(
      name: "parameters", url: "https://example.com/path?bar=1&foo=2", payload: "",
      token: start + "3OTIwMCwiZXhwIjoxNjI1NDc5MjYwLCJqdGkiOiJjOTQ2YWY3Ny1lMTgyLTRlYWEtYjJmZi0xYTU0NWI1ZTk5MWEiLCJ1cmxf"
        + "aGFzaCI6IjQxZjA1ZjBkZGQwYTIyYWIyMDlhYzQ2ZjQ3YzQ1NzJkOWNlZmEyNTdlZDc0YjI0MDA0YmFlNzUzZWNlNmMyNjAifQ.huo2ou6JD"
        + "oDc7sV25d75UMWeYhBeavQlLsqIibSZuac"),
    MessageBirdVector(
      name: "parameters and payload", url: "https://example.com/path?bar=1&foo=2", payload: "Hello, World!",
      token: start + "3OTIwMCwiZXhwIjoxNjI1NDc5MjYwLCJqdGkiOiI5M2U1NTAwNi1hMGU4LTQ1MjYtYTE5MC1mYTVmZjAwZWExMTYiLCJ1cmxf"
        + "aGFzaCI6IjQxZjA1ZjBkZGQwYTIyYWIyMDlhYzQ2ZjQ3YzQ1NzJkOWNlZmEyNTdlZDc0YjI0MDA0YmFlNzUzZWNlNmMyNjAiLCJwYXlsb2Fk"
        + "X2hhc2giOiJkZmZkNjAyMWJiMmJkNWIwYWY2NzYyOTA4MDllYzNhNTMxOTFkZDgxYzdmNzBhNGIyODY4OGEzNjIxODI5ODZmIn0._H--TOuY"
        + "FLpeEH39-rg5E3IHVkjHozBcaKVWPRC5m9I"),
    MessageBirdVector(
      name: "before it was issued", url: "https://example.com/", payload: "",
      token: start + "4MjgwMCwiZXhwIjoxNjI1NDgyODYwLCJqdGkiOiJmOWY4YzM4Mi0yNDQ5LTQzMTEtYjcyYi0xZGY3MTY4NzkzMWUiLCJ1cmxf"
        + "aGFzaCI6IjBmMTE1ZGIwNjJiN2MwZGQwMzBiMTY4NzhjOTlkZWE1YzM1NGI0OWRjMzdiMzhlYjg4NDYxNzljNzc4M2U5ZDcifQ.ZELgDFNGh"
        + "jZH9CffQKcq3sytBe2I0KciLxpBhcfstHQ", refusal: .stale),
    MessageBirdVector(
      name: "after it has expired", url: "https://example.com/", payload: "",
      token: start + "3NTYwMCwiZXhwIjoxNjI1NDc1NjYwLCJqdGkiOiI1ZjAyZjUyMi02MDMwLTQ2YzgtYjVhMy0wMTI0NjQ3OGQ4YmMiLCJ1cmxf"
        + "aGFzaCI6IjBmMTE1ZGIwNjJiN2MwZGQwMzBiMTY4NzhjOTlkZWE1YzM1NGI0OWRjMzdiMzhlYjg4NDYxNzljNzc4M2U5ZDcifQ.45MSST3B_"
        + "2PsjNUeiuW54_vUQgVw4rBXrdWrOUEz3lM", refusal: .stale),
    MessageBirdVector(
      name: "parameters in another order", url: "https://example.com/path?foo=1&bar=2", payload: "",
      token: start + "3OTIwMCwiZXhwIjoxNjI1NDc5MjYwLCJqdGkiOiJhNzVjOTA5Ni1lODIzLTQ0MmItODVmMi03ZDNjOWQ5YjcyNmIiLCJ1cmxf"
        + "aGFzaCI6IjZhMDIyZDgzNGMxODMzMGJhYWQ4YTJiZDYxMzUxNzNlZDIxNjEwYTQ1NDUxNmJlMGRmM2YxY2MwMTUxNjEwZWEifQ.z6Sw1XQIM"
        + "0wuEQGBhXBdawDIIrtMg2XnmA_bpDq53pE", refusal: .forged),
    MessageBirdVector(
      name: "another payload", url: "https://example.com/", payload: "Hello, World!",
      token: start + "3OTIwMCwiZXhwIjoxNjI1NDc5MjYwLCJqdGkiOiIxNDUwMTUzMi05NmYyLTQ2ODQtOTgzMi02OGYwOTUxYWUzNDIiLCJ1cmxf"
        + "aGFzaCI6IjBmMTE1ZGIwNjJiN2MwZGQwMzBiMTY4NzhjOTlkZWE1YzM1NGI0OWRjMzdiMzhlYjg4NDYxNzljNzc4M2U5ZDciLCJwYXlsb2Fk"
        + "X2hhc2giOiJmYjYyZjAyYWNkYTdkNzQxNzdhNzAxYTFjZTAwNmU2YmFjZDkwYzdkNGQ3YWI0ODE2OTJjMWRhNDdjODEwNzZiIn0.m79RCwO6"
        + "dGa9pvzsQypkVuXQ6eM0CkRl6_U7MfWg6TM", refusal: .forged),
    MessageBirdVector(
      name: "another secret", url: "https://example.com/", payload: "",
      token: start + "3OTIwMCwiZXhwIjoxNjI1NDc5MjYwLCJqdGkiOiIyNDNjMjdhZS0yZjAyLTQ2YTAtODg1Mi1jNjZmMzdlYTlmNDYiLCJ1cmxf"
        + "aGFzaCI6IjBmMTE1ZGIwNjJiN2MwZGQwMzBiMTY4NzhjOTlkZWE1YzM1NGI0OWRjMzdiMzhlYjg4NDYxNzljNzc4M2U5ZDcifQ.JgSeYyOtl"
        + "EKAXk8bz30iJI4tXgf4lxknoiezawuVhb4", refusal: .forged),
    MessageBirdVector(
      name: "the payload was removed", url: "https://example.com/", payload: "",
      token: start + "3OTIwMCwiZXhwIjoxNjI1NDc5MjYwLCJqdGkiOiIxNDUwMTUzMi05NmYyLTQ2ODQtOTgzMi02OGYwOTUxYWUzNDIiLCJ1cmxf"
        + "aGFzaCI6IjBmMTE1ZGIwNjJiN2MwZGQwMzBiMTY4NzhjOTlkZWE1YzM1NGI0OWRjMzdiMzhlYjg4NDYxNzljNzc4M2U5ZDciLCJwYXlsb2Fk"
        + "X2hhc2giOiJkZmZkNjAyMWJiMmJkNWIwYWY2NzYyOTA4MDllYzNhNTMxOTFkZDgxYzdmNzBhNGIyODY4OGEzNjIxODI5ODZmIn0.bHfsjj3t"
        + "ljfzTufoG3EU3p_yFrQh9CufyzRSaRMd4ss", refusal: .forged),
    MessageBirdVector(
      name: "a payload was added", url: "https://example.com/", payload: "Hello, World!",
      token: start + "3OTIwMCwiZXhwIjoxNjI1NDc5MjYwLCJqdGkiOiI1OWEyNDRkYy1lOWFkLTRlMjMtOTc3OC0zNzFmYWEyMzhmNzIiLCJ1cmxf"
        + "aGFzaCI6IjBmMTE1ZGIwNjJiN2MwZGQwMzBiMTY4NzhjOTlkZWE1YzM1NGI0OWRjMzdiMzhlYjg4NDYxNzljNzc4M2U5ZDcifQ.6Fp0rVOsR"
        + "r1fj9S2GidXAfkmPVofKr8_RTffC6G6r2E", refusal: .forged),
    MessageBirdVector(
      name: "a port", url: "https://example.com:8080/", payload: "",
      token: start + "3OTIwMCwiZXhwIjoxNjI1NDc5MjYwLCJqdGkiOiI1OWEyNDRkYy1lOWFkLTRlMjMtOTc3OC0zNzFmYWEyMzhmNzIiLCJ1cmxf"
        + "aGFzaCI6IjA3Zjc4NjFhNjliMTNjMjI5YzZhZTU5NmQxOThiMjc2M2IwNTRjZjVlMDAwZDczNmQxYzQ4MTAyZDc3MGNmZmMifQ.vcpa0IicG"
        + "Abpo064dOjiA2VbVOR2S5uZBEaBOP16sS8"),
    MessageBirdVector(
      name: "special characters",
      url: "https://example.com/?obj%5Bfield1%5D=val1&obj%5Bfield2%5D=val2&param=value+with+spaces", payload: "",
      token: start + "3OTIwMCwiZXhwIjoxNjI1NDc5MjYwLCJqdGkiOiI1OWEyNDRkYy1lOWFkLTRlMjMtOTc3OC0zNzFmYWEyMzhmNzIiLCJ1cmxf"
        + "aGFzaCI6IjhhZmYzNzQ4ZDc4OWM0MzMzNTczZTFjMzFmZTViMDA0OTQwY2I1ZmM0NzQ2MGVkM2QwZTY1NGY3ZmM0ZTVmYWUifQ.mJBCMfEjK"
        + "mN3IMuzqPXPHktWETrcu0iNdF3agE8PDyI"),
    MessageBirdVector(
      name: "HS384", url: "https://example.com/", payload: "",
      token: "eyJhbGciOiJIUzM4NCIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJNZXNzYWdlQmlyZCIsIm5iZiI6MTYyNTQ3OTIwMCwiZXhwIjoxNjI1NDc5"
        + "MjYwLCJqdGkiOiI1OWEyNDRkYy1lOWFkLTRlMjMtOTc3OC0zNzFmYWEyMzhmNzIiLCJ1cmxfaGFzaCI6IjBmMTE1ZGIwNjJiN2MwZGQwMzBi"
        + "MTY4NzhjOTlkZWE1YzM1NGI0OWRjMzdiMzhlYjg4NDYxNzljNzc4M2U5ZDcifQ.KNMW-29X77lZeuPmThmHWc_RUAvTkaDkpxIZK6mqE08v8"
        + "mWKiU9Edh4QXwAJO2nv"),
    MessageBirdVector(
      name: "HS512", url: "https://example.com/", payload: "",
      token: "eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJNZXNzYWdlQmlyZCIsIm5iZiI6MTYyNTQ3OTIwMCwiZXhwIjoxNjI1NDc5"
        + "MjYwLCJqdGkiOiI1OWEyNDRkYy1lOWFkLTRlMjMtOTc3OC0zNzFmYWEyMzhmNzIiLCJ1cmxfaGFzaCI6IjBmMTE1ZGIwNjJiN2MwZGQwMzBi"
        + "MTY4NzhjOTlkZWE1YzM1NGI0OWRjMzdiMzhlYjg4NDYxNzljNzc4M2U5ZDcifQ.rd6r0iMyNGnVPCwurETphE3Y8rpAyvvnUK0S8WvGUkt2E"
        + "1QSRAZ7NZJZBHw1Y_Wb5W-sK9HJr_PRL2vz4jRT3Q"),
    MessageBirdVector(
      name: "none", url: "https://example.com/", payload: "",
      token: "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJpc3MiOiJNZXNzYWdlQmlyZCIsImlhdCI6MTYyNTQ3OTIwMCwiZXhwIjoxNjI1NDc5M"
        + "jYwLCJqdGkiOiI1OWEyNDRkYy1lOWFkLTRlMjMtOTc3OC0zNzFmYWEyMzhmNzIiLCJ1cmxfaGFzaCI6IjBmMTE1ZGIwNjJiN2MwZGQwMzBiM"
        + "TY4NzhjOTlkZWE1YzM1NGI0OWRjMzdiMzhlYjg4NDYxNzljNzc4M2U5ZDcifQ.", refusal: .forged),
  ]
}
