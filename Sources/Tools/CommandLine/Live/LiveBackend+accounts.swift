import CountersignClient
import CountersignCryptography
import CountersignMessages
import FoundationEssentials

extension LiveBackend {
  func withAccounts<Result: Sendable>(
    _ body: @Sendable (any AccountsConnection) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result {
    let key = try accountsKey()
    return try await withClient(of: try configuration.operatorUser.endpoint()) { client in
      try await body(LiveAccounts(client: client, key: key))
    }
  }

  private func accountsKey() throws(CommandLineError) -> PublicSealingKey {
    guard let file = configuration.accountsKeysFile else {
      throw CommandLineError(
        .configuration,
        "the public keys of accounts are not known: set COUNTERSIGN_ACCOUNTS_KEYS_FILE, or accounts.keysFile in countersign.json5, to the gateway's accountsKeysFile"
      )
    }
    let set = try InputFile.read(file, limit: KeyRing.maxSetBytes)
    do {
      if let key = try PublicSealingKeys(jwkSet: set).sealing { return key }
    } catch {
      throw CommandLineError(.configuration, "\(file) holds no public keys of accounts: \(error.message)")
    }
    throw CommandLineError(.configuration, "\(file) holds no key")
  }
}

private struct LiveAccounts: AccountsConnection {
  let client: CountersignClient
  let key: PublicSealingKey

  func send<C: Command>(_ command: C, id: String, timeout: Duration) async throws(CommandLineError) -> C.Reply {
    do {
      return try await client.send(command, id: id, timeout: timeout)
    } catch {
      throw CommandLineError(error)
    }
  }
}
