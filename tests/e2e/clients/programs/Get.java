import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;

/** Get CLIENT URL...: fetches each URL and prints one JSON line for it; the proxy comes from system properties. */
public class Get {
    static final String KEY = "Bearer " + System.getenv("CLIENT_KEY");

    public static void main(String[] arguments) {
        for (int i = 1; i < arguments.length; i++) {
            try {
                if (arguments[0].equals("url-connection"))
                    withUrlConnection(arguments[i]);
                else
                    withHttpClient(arguments[i]);
            } catch (Exception error) {
                System.out.println("{\"error\": " + quote(error.toString()) + "}");
            }
        }
    }

    static void withUrlConnection(String url) throws Exception {
        HttpURLConnection connection = (HttpURLConnection) URI.create(url).toURL().openConnection();
        connection.setRequestProperty("Authorization", KEY);
        int status = connection.getResponseCode();
        InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream();
        tell(status, connection.getHeaderField("X-Namzu-Reason"), new String(body.readAllBytes(), StandardCharsets.UTF_8));
    }

    static final HttpClient client = HttpClient.newHttpClient();

    static void withHttpClient(String url) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url)).header("Authorization", KEY).build();
        HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
        tell(answer.statusCode(), answer.headers().firstValue("X-Namzu-Reason").orElse(null), answer.body());
    }

    static void tell(int status, String reason, String body) {
        System.out.println("{\"status\": " + status + ", \"reason\": " + (reason == null ? "null" : quote(reason))
                + ", \"body\": " + quote(body) + "}");
    }

    static String quote(String text) {
        StringBuilder made = new StringBuilder("\"");
        for (char c : text.toCharArray())
            made.append(c == '"' || c == '\\' ? "\\" + c : c < 0x20 ? String.format("\\u%04x", (int) c) : "" + c);
        return made.append('"').toString();
    }
}
