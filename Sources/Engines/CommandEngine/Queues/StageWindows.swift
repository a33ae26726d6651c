import CountersignConcurrency
import Synchronization

/// Stages of a queue that wait or run, window by window.
final class StageWindows: Sendable {
  private let general = Window(CommandStage.Window.general.maxAtOnce)
  private let providers = Window(CommandStage.Window.providers.maxAtOnce)
  private let hashing = Window(CommandStage.Window.hashing.maxAtOnce)
  private let staged = Mutex<[CommandStage.Window: Int]>([:])
  private let prefetch: Int

  init(prefetch: Int) {
    self.prefetch = prefetch
  }

  /// Suspends until there is room, and until the work has ended.
  /// - Returns: `nil` at once when too many wait already.
  func run<Value: Sendable>(in window: CommandStage.Window, _ work: () async -> Value) async -> Value? {
    guard join(window) else { return nil }
    defer { staged.withLock { $0[window, default: 0] -= 1 } }
    let room = room(window)
    await room.enter()
    defer { room.leave() }
    return await work()
  }

  private func room(_ window: CommandStage.Window) -> Window {
    switch window {
    case .general: general
    case .providers: providers
    case .hashing: hashing
    }
  }

  private func join(_ window: CommandStage.Window) -> Bool {
    staged.withLock { staged in
      let total = staged.values.reduce(0, +)
      guard staged[window, default: 0] < window.maxStaged(prefetch: prefetch),
        total < CommandStage.Window.general.maxStaged(prefetch: prefetch)
      else { return false }
      staged[window, default: 0] += 1
      return true
    }
  }
}
