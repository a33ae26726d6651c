// Programs that link Swift's libraries statically are built without it, and this target with them.
#if canImport(Testing)
  package import Testing

  /// Lets a test use the server of ``PrivatePostgreSQL`` when few others do: see ``PrivatePostgreSQL/admit(_:)``.
  package struct OnSharedServer: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
      for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
      try await PrivatePostgreSQL.admit { try await function() }
    }
  }

  extension Trait where Self == OnSharedServer {
    /// For tests and suites that ask for a database of the shared server.
    package static var onSharedServer: Self { OnSharedServer() }
  }
#endif
