import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;

/** Threads, a pool, a process and a socket. Prints "well" at the end. */
class Threads {
    public static void main(String[] none) throws Exception {
        var pool = Executors.newFixedThreadPool(8);
        if (pool.submit(() -> IntStream.range(0, 1000).parallel().sum()).get() != 499500) throw new Error();
        try (var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            var heard = pool.submit(() -> server.accept().getInputStream().read());
            try (var socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
                socket.getOutputStream().write(7);
                if (heard.get() != 7) throw new Error();
            }
        }
        pool.shutdown();
        if (new ProcessBuilder("/bin/sh", "-c", "exit 3").start().waitFor() != 3) throw new Error();
        System.out.println("well");
    }
}
