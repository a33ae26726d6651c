import Glibc
import Synchronization
import Testing

/// The bound that deploy/test sets on what runs at once, without which a thousand tests wait for the same threads.
@Suite(.enabled(if: width != nil, "only deploy/test bounds what runs at once"))
struct RunWidthTests {
  private static let inside = Mutex((now: 0, most: 0))

  @Test(.timeLimit(.minutes(10)), arguments: 0..<64)
  func `No more test cases run at once than were asked for`(_: Int) async throws {
    let most = Self.inside.withLock { count in
      count.now += 1
      count.most = max(count.most, count.now)
      return count.most
    }
    try await Task.sleep(for: .milliseconds(5))
    Self.inside.withLock { $0.now -= 1 }
    #expect(most <= width ?? 0)
  }
}

private let width = getenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH").flatMap { Int(String(cString: $0)) }
