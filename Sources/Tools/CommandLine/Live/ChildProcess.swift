import Dispatch

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

enum ChildProcess {
  struct Outcome: Sendable {
    /// After a signal, 128 plus its number.
    let status: Int32
    /// Beginning of standard output and standard error together.
    let output: String
  }

  /// After it the program is killed.
  static let ceiling = DispatchTimeInterval.seconds(15)
  static let maxOutput = 16 * 1024

  static func run(_ path: String, _ arguments: [String]) async -> Outcome? {
    await withCheckedContinuation { continuation in
      // Reading and waiting block, so they run outside the cooperative pool.
      DispatchQueue.global().async { continuation.resume(returning: runBlocking(path, arguments)) }
    }
  }

  private static func runBlocking(_ path: String, _ arguments: [String]) -> Outcome? {
    var ends: [Int32] = [0, 0]
    // With a copy of either end in the program, reading would not end with it.
    guard pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }) else { return nil }
    defer { close(ends[0]) }
    let child = spawn(path, arguments, output: ends[1])
    close(ends[1])
    guard let child else { return nil }
    let killer = DispatchSource.makeTimerSource(queue: .global())
    killer.schedule(deadline: .now() + ceiling)
    killer.setEventHandler { kill(child, SIGKILL) }
    killer.resume()
    let output = readAll(ends[0])
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    killer.cancel()
    let signal = status & 0x7F
    return Outcome(status: signal == 0 ? (status >> 8) & 0xFF : 128 + signal, output: output)
  }

  private static func spawn(_ path: String, _ arguments: [String], output: Int32) -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
    var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var child: pid_t = 0
    return posix_spawn(&child, path, &actions, nil, &words, environ) == 0 ? child : nil
  }

  /// Reads to the end, so that the program never blocks, and keeps the beginning.
  private static func readAll(_ descriptor: Int32) -> String {
    var kept: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return String(decoding: kept, as: UTF8.self) }
      kept += chunk[..<min(count, maxOutput - kept.count)]
    }
  }
}
