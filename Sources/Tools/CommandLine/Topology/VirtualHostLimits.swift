/// The most that may be declared in the virtual host.
public enum VirtualHostLimits {
  /// Queues of the topology and of services together. RabbitMQ counts queues by virtual host and not by user, so a service that
  /// declares them all keeps others from new queues of their own, but not from direct reply-to, which needs none. Neither the coordinator nor a
  /// worker declares one.
  public static let maxQueues = 1000
}
