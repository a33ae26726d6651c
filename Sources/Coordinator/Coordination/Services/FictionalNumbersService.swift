import CountersignConcurrency
import Dispatch
import ServiceRuntime

/// Checks for changes of the fictional numbers until it is stopped.
struct FictionalNumbersService: Service {
  let name = "fictional numbers"
  private let reader: FictionalNumbersReader
  private let stopRequested = Latch()
  private let queue = DispatchQueue(label: "countersign.fictional-numbers")

  /// An operator who changes them waits for it, and a file of a few kilobytes is cheap to read.
  private static let interval = Duration.seconds(5)

  init(_ reader: FictionalNumbersReader) {
    self.reader = reader
  }

  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.watch() }
      group.addTask { await self.stopRequested.wait() }
      await group.next()
      group.cancelAll()
    }
  }

  private func watch() async {
    while !Task.isCancelled {
      do { try await Task.sleep(for: Self.interval) } catch { return }
      await withCheckedContinuation { done in
        queue.async {
          reader.look()
          done.resume()
        }
      }
    }
  }

  func stop() async {
    stopRequested.open()
  }
}
