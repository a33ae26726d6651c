import CountersignCryptography
import CountersignTelemetry
import JobEngine
import SQLite
public import ServiceRuntime
import Synchronization

/// The push worker, made from its configuration: one worker for silent pushes that prove an app, one for the assessment
/// of reCAPTCHA tokens.
public final class PushVerifier: Sendable {
  static let program = "push-worker"

  let push: (handler: PushJobHandler, lanes: [LaneConfiguration])
  let recaptcha: (handler: RecaptchaJobHandler, lanes: [LaneConfiguration])
  private let lanes: PushLanes
  private let memory: PushMemory
  private let running = Mutex(0)

  /// - Parameters:
  ///   - configuration: checked configuration.
  ///   - context: parts that the services of the process share.
  /// - Throws: when certificates or the memory cannot be used.
  public init(_ configuration: PushWorkerConfiguration, _ context: ServiceContext) async throws {
    let keys = if let keys = configuration.common.keys { keys } else { try KeyRing(sealing: nil) }
    let lanes = try PushLanes(configuration, clocks: context.clocks, logger: context.logger)
    let (routes, accounts) = (lanes.pushing, lanes.recaptcha)
    try await configuration.worker.ledger.waitForServer(context, parts: configuration.memory.table.parts)
    let memory = try await Self.openMemory(configuration.memory, context)
    push = (
      PushJobHandler(apps: routes.apps, routes: routes.routes, keys: keys, memory: memory), routes.configurations
    )
    recaptcha = (
      RecaptchaJobHandler(
        apps: accounts.apps, lanes: accounts.lanes, keys: keys, memory: memory, logger: context.logger),
      accounts.configurations
    )
    self.lanes = lanes
    self.memory = memory
    for provider in configuration.providers { provider.register(lanes, in: context.metrics) }
  }

  /// The workers of the process: those with at least one lane.
  ///
  /// - Throws: a problem with the ledger, which the operator has to fix.
  public func services(
    _ configuration: PushWorkerConfiguration, _ context: ServiceContext
  ) async throws -> [any Service] {
    var services: [any Service] = []
    if !push.lanes.isEmpty {
      services.append(
        try await WorkerService(
          handler: push.handler, lanes: push.lanes, settings: configuration.worker, common: configuration.common,
          context: context, finish: finished))
    }
    if !recaptcha.lanes.isEmpty {
      services.append(
        try await WorkerService(
          handler: recaptcha.handler, queue: WorkerQueue(prefix: "recaptcha."), lanes: recaptcha.lanes,
          settings: configuration.worker, common: configuration.common, context: context, finish: finished))
    }
    running.withLock { [count = services.count] in $0 = count }
    return services
  }

  /// Closes the shared parts when the last worker has ended.
  private func finished() async {
    let left = running.withLock { running in
      running -= 1
      return running
    }
    guard left == 0 else { return }
    await shutdown()
  }

  func shutdown() async {
    for lane in lanes.pushing.lanes { await lane.shutdown() }
    await lanes.recaptcha.shutdown()
    await memory.close()
  }

  private static func openMemory(_ settings: PushMemorySettings, _ context: ServiceContext) async throws -> PushMemory {
    PushMemory(
      try await settings.table.open(of: .pushMemory), environmentLife: settings.environmentLife, logger: context.logger,
      clock: context.clocks.monotonic)
  }
}
