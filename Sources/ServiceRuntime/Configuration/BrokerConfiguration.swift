public import Telemetry

/// Where the broker is: the section `broker`.
public struct BrokerConfiguration: Sendable {
  /// `amqp://` or `amqps://`. Not to be logged: an operator may have put the password into it.
  public let url: Secret
  /// The password, which goes before one in the URL.
  public let password: Secret?
  /// Certificates to trust; those of the system if absent.
  public let caFile: String?
  /// The client's certificate, PEM.
  public let certificateFile: String?
  /// The key of the client's certificate, PEM.
  public let keyFile: String?

  init(_ section: ConfigurationSection) {
    url = Secret(
      section.string("url", "The broker's address, amqp://user@host:5672/vhost or amqps://user@host:5671/vhost."))
    password = section.secretFile("passwordFile", "The file with the password of the user in the URL.")
    let tls = section.section("tls")
    caFile = tls.path("caFile", "Certificates to trust, PEM; those of the system if absent.")
    certificateFile = tls.path("certificateFile", "The client's certificate, PEM.")
    keyFile = tls.path("keyFile", "The key of the client's certificate, PEM.")
    if (certificateFile == nil) != (keyFile == nil) {
      tls.problem(
        certificateFile == nil ? "certificateFile" : "keyFile", "is required beside the other: give both or none")
    }
  }
}
