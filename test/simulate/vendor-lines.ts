/** A line as a vendor documents it, or as its program wrote it, and what it says. */
interface VendorLine {
  readonly format: string;
  /** Where the line is documented, or what wrote it. */
  readonly source: string;
  readonly lines: readonly string[];
  readonly time: string;
  readonly ip: string;
  readonly path: string;
  readonly agent?: string;
  /** Whether `--format` is needed: the lines have the combined format, too. */
  readonly isChosen?: boolean;
}

/** Lines that were written by packages of Debian 12 for this test: nginx 1.22.1, Apache 2.4.68, HAProxy 2.6.12. */
const written: readonly VendorLine[] = [
  {
    format: 'syslog',
    source: 'nginx, access_log syslog:server=...,facility=local7,tag=nginx,severity=info combined, over UDP',
    lines: [
      '<190>Nov 26 05:03:32 vm nginx: 127.0.0.1 - - [26/Nov/2026:05:03:32 +0000] "GET /login HTTP/1.1" 200 2 "-" "curl/7.88.1"',
    ],
    ...{ time: '2026-11-26T05:03:32.000Z', ip: '127.0.0.1', path: '/login', agent: 'curl/7.88.1' },
  },
  {
    format: 'nginx-forwarded',
    source: 'nginx, with the log_format "main" of conf/nginx.conf in https://github.com/nginx/nginx',
    lines: [
      '127.0.0.1 - - [26/Nov/2026:05:03:32 +0000] "GET /cart?id=1 HTTP/1.1" 200 2 "https://example.com/" "Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0" "203.0.113.7, 10.0.0.3"',
    ],
    ...{ time: '2026-11-26T05:03:32.000Z', ip: '203.0.113.7', path: '/cart', isChosen: true },
  },
  {
    format: 'nginx-forwarded',
    source: 'nginx, the same, for a request without X-Forwarded-For',
    lines: ['127.0.0.1 - - [26/Nov/2026:05:03:32 +0000] "GET /login HTTP/1.1" 200 2 "-" "curl/7.88.1" "-"'],
    ...{
      time: '2026-11-26T05:03:32.000Z',
      ip: '127.0.0.1',
      path: '/login',
      agent: 'curl/7.88.1',
      isChosen: true,
    },
  },
  {
    format: 'vhost_combined',
    source: 'Apache, with the LogFormat vhost_combined of /etc/apache2/apache2.conf',
    lines: [
      'shop.example:80 127.0.0.1 - - [26/Nov/2026:05:03:32 +0000] "GET /index.html HTTP/1.1" 404 397 "-" "curl/7.88.1"',
    ],
    ...{ time: '2026-11-26T05:03:32.000Z', ip: '127.0.0.1', path: '/index.html', agent: 'curl/7.88.1' },
  },
  {
    format: 'haproxy',
    source: 'HAProxy, option httplog, over UDP',
    lines: [
      '<134>Nov 26 05:03:32 haproxy[18633]: 127.0.0.1:33402 [26/Nov/2026:05:03:32.809] http-in static/srv1 0/0/0/0/0 200 123 - - ---- 1/1/0/0/0 0/0 "GET /index.html?a=b HTTP/1.1"',
    ],
    ...{ time: '2026-11-26T05:03:32.809Z', ip: '127.0.0.1', path: '/index.html' },
  },
];

const documented: readonly VendorLine[] = [
  {
    format: 'haproxy',
    source: 'HAProxy configuration manual, 8.2.3 HTTP log format, https://docs.haproxy.org/',
    lines: [
      'Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1"',
    ],
    ...{ time: '2009-02-06T12:14:14.655Z', ip: '10.0.1.2', path: '/index.html' },
  },
  {
    format: 'vhost_combined',
    source: 'filebeat/module/apache/access/test/test-vhost.log in https://github.com/elastic/beats',
    lines: [
      'vhost1.domaine.fr 123.123.123.123 - - [04/Jul/2019:09:20:46 +0200] "GET / HTTP/1.1" 200 32953 "-" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/75.0.  3770.100 Safari/537.36"',
    ],
    ...{ time: '2019-07-04T07:20:46.000Z', ip: '123.123.123.123', path: '/' },
  },
  {
    format: 'alb',
    source:
      'https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html',
    lines: [
      'https 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443/ HTTP/1.1" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337281-1d84f3d73c47ec4e58577259" "www.example.com" "arn:aws:acm:us-east-2:123456789012:certificate/12345678-1234-1234-1234-123456789012" 1 2018-07-02T22:22:48.364000Z "authenticate,forward" "-" "-"',
    ],
    ...{ time: '2018-07-02T22:23:00.186Z', ip: '192.168.131.39', path: '/', agent: 'curl/7.46.0' },
  },
  {
    format: 'alb',
    source: 'the same page, a request to a Lambda function that failed',
    lines: [
      'http 2018-11-30T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 - 0.000 0.001 0.000 502 - 34 366 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.46.0" - - arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337364-23a8c76965a2ef7629b185e3" "-" "-" 0 2018-11-30T22:22:48.364000Z "forward" "-" "LambdaInvalidResponse"',
    ],
    ...{ time: '2018-11-30T22:23:00.186Z', ip: '192.168.131.39', path: '/', agent: 'curl/7.46.0' },
  },
  {
    format: 'cloudfront',
    source: 'https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html',
    lines: [
      '#Version: 1.0',
      '#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start sc-range-end',
      '2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200\t-\tMozilla/5.0%20(Windows%20NT%2010.0;%20Win64;%20x64)%20AppleWebKit/537.36%20(KHTML,%20like%20Gecko)%20Chrome/78.0.3904.108%20Safari/537.36\t-\t-\tHit\tSOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==\td111111abcdef8.cloudfront.net\thttps\t23\t0.001\t-\tTLSv1.2\tECDHE-RSA-AES128-GCM-SHA256\tHit\tHTTP/2.0\t-\t-\t11040\t0.001\tHit\ttext/html\t78\t-\t-',
    ],
    ...{ time: '2019-12-04T21:02:31.000Z', ip: '192.0.2.100', path: '/index.html' },
  },
  {
    format: 'iis',
    source:
      'https://docs.microsoft.com/en-us/previous-versions/windows/it-pro/windows-server-2003/cc738725(v=ws.10)',
    lines: [
      '#Software: Microsoft Internet Information Services 6.0',
      '#Version: 1.0',
      '#Date: 2002-05-02 17:42:15',
      '#Fields: date time c-ip cs-username s-ip s-port cs-method cs-uri-stem cs-uri-query sc-status cs(User-Agent)',
      '2002-05-02 17:42:15 172.22.255.255 - 172.30.255.255 80 GET /images/picture.jpg - 200 Mozilla/4.0+(compatible;MSIE+5.5;+Windows+2000+Server)',
    ],
    ...{ time: '2002-05-02T17:42:15.000Z', ip: '172.22.255.255', path: '/images/picture.jpg' },
    agent: 'Mozilla/4.0+(compatible;MSIE+5.5;+Windows+2000+Server)',
  },
  {
    format: 'caddy',
    source: 'https://caddyserver.com/docs/logging, without its line breaks',
    lines: [
      '{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"],"Accept-Encoding":["gzip, deflate, br"]},"tls":{"resumed":false,"version":772,"cipher_suite":4865,"proto":"h2","server_name":"example.com"}},"bytes_read":0,"user_id":"","duration":0.000929675,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"],"Content-Encoding":["gzip"],"Content-Type":["text/html; charset=utf-8"],"Vary":["Accept-Encoding"]}}',
    ],
    ...{ time: '2022-03-09T21:30:01.524Z', ip: '127.0.0.1', path: '/', agent: 'curl/7.82.0' },
  },
  {
    format: 'traefik',
    source:
      'packages/traefik/data_stream/access/_dev/test/pipeline/test-format-json.log in https://github.com/elastic/integrations, without some fields',
    lines: [
      '{"BackendAddr":"10.10.10.10:80","BackendName":"backend-backend-docker","ClientAddr":"10.10.10.20:12345","ClientHost":"10.10.10.20","ClientPort":"12345","ClientUsername":"-","DownstreamContentSize":383,"DownstreamStatus":200,"Duration":100000,"RequestHost":"backend.docker.docker.localhost","RequestLine":"GET / HTTP/1.1","RequestMethod":"GET","RequestPath":"/","RequestPort":"-","RequestProtocol":"HTTP/1.1","RetryAttempts":0,"StartLocal":"2021-03-16T19:08:41.039598834Z","StartUTC":"2021-03-16T19:08:41.039598834Z","level":"info","msg":"","request_Accept":"*/*","request_User-Agent":"curl/7.64.1","time":"2021-03-16T19:08:41Z"}',
    ],
    ...{ time: '2021-03-16T19:08:41.039Z', ip: '10.10.10.20', path: '/', agent: 'curl/7.64.1' },
  },
  {
    format: 'cloudflare',
    source:
      'https://cloud.ibm.com/docs/cis?topic=cis-logpull (the logs of Cloudflare, as IBM documents them)',
    lines: [
      '{"ClientIP":"2620:1f7:8c5::1f:949e:c04d","ClientRequestHost":"test.logpull.load.com","ClientRequestMethod":"GET","ClientRequestURI":"/assets/bootstrap-collapse.js","EdgeEndTimestamp":1545067628046000000,"EdgeResponseBytes":2205,"EdgeResponseStatus":200,"EdgeStartTimestamp":1545067628044000000,"RayID":"48ab19434891c7a7"}',
    ],
    ...{ time: '2018-12-17T17:27:08.044Z', ip: '2620:1f7:8c5::/64', path: '/assets/bootstrap-collapse.js' },
  },
];

export const vendorLines = [...written, ...documented];
