internal import DNS
internal import Mail
internal import ServiceRuntime

extension LiveBackend {
  func mailConfiguration(file: String?) throws(OperationsError) -> MailWorkerConfiguration {
    guard let file = file ?? configuration.configDirectory.map({ $0 + "/mail-worker.json5" }) else {
      throw OperationsError(
        .configuration, "where mail-worker.json5 is is not known: give --worker-config, or set COUNTERSIGN_CONFIG_DIR")
    }
    do {
      // The environment of this program is not that of the worker.
      return try MailWorkerConfiguration.load(file: file, environment: [:]).content
    } catch {
      throw OperationsError(.configuration, error.description)
    }
  }

  func diagnoseMail(_ configuration: MailWorkerConfiguration, timeout: Duration) async -> [Finding] {
    let names = NameService(timeout: timeout)
    let check = MailCheck { (name) throws(NameServiceError) in try await names.texts(name) }
    return await check.findings(configuration) + (await servers(configuration, timeout))
  }

  private func servers(_ configuration: MailWorkerConfiguration, _ timeout: Duration) async -> [Finding] {
    await MailRelay.checkServers(configuration, timeout: timeout).map { name, problem in
      let check = "mail server of lane \(name)"
      guard let problem else { return Finding(check, .ok, "it lets this client in") }
      return Finding(check, .failed, problem, mend: "mend the lane in mail-worker.json5, or the server")
    }
  }
}
