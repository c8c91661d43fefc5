//! The capabilities of a new session, for Chromium and for Firefox. An endpoint has one of the two.

use serde_json::{Value, json};

/// The options of a new session.
#[derive(Clone, Copy)]
pub(super) struct SessionOptions<'a> {
    /// The host and port of the session's egress proxy.
    pub(super) proxy: &'a str,
    /// Whether to enable WebDriver BiDi in Firefox, which its contexts need.
    pub(super) with_bidi: bool,
    /// Whether to disable Chromium's own sandbox, which works neither for root nor in many containers.
    pub(super) without_sandbox: bool,
}

impl SessionOptions<'_> {
    /// Returns the body of a New Session command.
    pub(super) fn capabilities(&self) -> Value {
        json!({"capabilities": {
            "alwaysMatch": {
                // The prober itself waits for the marks of the module. It does not wait for the last script to end.
                "pageLoadStrategy": "none",
                "unhandledPromptBehavior": "dismiss",
                "acceptInsecureCerts": false,
                "timeouts": {"implicit": 0, "pageLoad": 30_000, "script": SCRIPT_TIMEOUT_MS},
            },
            "firstMatch": [self.chromium(), self.firefox()],
        }})
    }

    fn chromium(&self) -> Value {
        let mut args: Vec<String> = CHROMIUM_ARGS.iter().map(|arg| (*arg).to_owned()).collect();
        if self.without_sandbox {
            args.push("--no-sandbox".into());
        }
        // The proxy is used for all schemes and for loopback addresses.
        args.push(format!("--proxy-server=http://{}", self.proxy));
        args.push("--proxy-bypass-list=<-loopback>".into());
        // The browser resolves no names except the proxy's, neither for prefetching nor for WebRTC.
        let proxy_host = self.proxy.rsplit_once(':').map_or(self.proxy, |(host, _)| host);
        args.push(format!("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {proxy_host}"));
        json!({
            "browserName": "chrome",
            "proxy": self.proxy_of(&["<-loopback>"]),
            "goog:chromeOptions": {
                "args": args,
                // Chromedriver would allow popups.
                "excludeSwitches": ["disable-popup-blocking"],
                "prefs": chromium_preferences(),
            },
        })
    }

    fn firefox(&self) -> Value {
        let mut firefox = json!({
            "browserName": "firefox",
            "proxy": self.proxy_of(&[]),
            "moz:firefoxOptions": {"args": ["-headless"], "prefs": firefox_preferences()},
        });
        if self.with_bidi {
            firefox["webSocketUrl"] = json!(true);
        }
        firefox
    }

    /// Returns the proxy of the session's traffic (WebDriver, section 7.2).
    fn proxy_of(&self, without: &[&str]) -> Value {
        json!({
            "proxyType": "manual",
            "httpProxy": self.proxy,
            "sslProxy": self.proxy,
            "noProxy": without,
        })
    }
}

/// The time limit of a script. Only a page that hangs takes longer.
const SCRIPT_TIMEOUT_MS: u64 = 3000;

const CHROMIUM_ARGS: [&str; 32] = [
    "--headless=new",
    "--window-size=1280,1000",
    "--lang=en-US",
    // Small containers have little shared memory and no graphics.
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-software-rasterizer",
    // Only the HTML of a page is used.
    "--blink-settings=imagesEnabled=false",
    "--disable-remote-fonts",
    "--mute-audio",
    "--autoplay-policy=user-gesture-required",
    // These options prevent traffic that would bypass the proxy.
    "--disable-quic",
    "--dns-prefetch-disable",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    // These options prevent traffic of the browser itself.
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-search-engine-choice-screen",
    "--disable-sync",
    "--no-pings",
    "--metrics-recording-only",
    "--disable-features=AutofillServerCommunication,CertificateTransparencyComponentUpdater,\
     InterestFeedContentSuggestions,MediaRouter,OptimizationHints,Prerender2,SafeBrowsing,Translate,\
     WebTransport",
    // There are no crash reports, and no more processes and memory than one page needs.
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--renderer-process-limit=4",
    "--js-flags=--max-old-space-size=512",
    "--disk-cache-size=33554432",
];

fn chromium_preferences() -> Value {
    json!({
        "intl.accept_languages": "en-US,en",
        "webrtc.ip_handling_policy": "disable_non_proxied_udp",
        "webrtc.multiple_routes_enabled": false,
        "webrtc.nonproxied_udp_enabled": false,
        // Downloads are forbidden.
        "download_restrictions": 3,
        "download.prompt_for_download": false,
        "safebrowsing.enabled": false,
        "credentials_enable_service": false,
        "profile.password_manager_enabled": false,
        // There are no predictions and no prefetching.
        "net.network_prediction_options": 2,
        "profile.default_content_setting_values": {
            "images": 2, "sound": 2, "notifications": 2, "geolocation": 2, "media_stream": 2, "popups": 2,
            "automatic_downloads": 2, "midi_sysex": 2, "bluetooth_guard": 2, "usb_guard": 2, "serial_guard": 2,
        },
    })
}

fn firefox_preferences() -> Value {
    json!({
        // Requests to loopback addresses use the proxy, too.
        "network.proxy.allow_hijacking_localhost": true,
        "network.proxy.no_proxies_on": "",
        "network.proxy.failover_direct": false,
        "network.trr.mode": 5,
        "network.dns.disablePrefetch": true,
        "network.dns.disablePrefetchFromHTTPS": true,
        "network.prefetch-next": false,
        "network.predictor.enabled": false,
        "network.http.speculative-parallel-limit": 0,
        "network.http.http3.enable": false,
        "network.webtransport.enabled": false,
        "media.peerconnection.enabled": false,
        "network.captive-portal-service.enabled": false,
        "network.connectivity-service.enabled": false,
        "permissions.default.image": 2,
        "gfx.downloadable_fonts.enabled": false,
        "media.autoplay.default": 5,
        "media.preload.default": 1,
        "media.preload.auto": 1,
        // These are the time for the process of a closed page to end by itself, in seconds, and for the browser, in
        // milliseconds.
        "dom.ipc.tabs.shutdownTimeoutSecs": 1,
        "toolkit.asyncshutdown.crash_timeout": 10_000,
        "browser.download.start_downloads_in_tmp_dir": true,
        "browser.helperApps.deleteTempFileOnExit": true,
        "dom.push.enabled": false,
        "dom.disable_open_during_load": true,
        "browser.safebrowsing.downloads.remote.enabled": false,
        "browser.safebrowsing.malware.enabled": false,
        "browser.safebrowsing.phishing.enabled": false,
        "intl.accept_languages": "en-US, en",
    })
}

/// The URL patterns of media and fonts, which are not needed. They are blocked in browsers without a setting for it.
pub(super) const NOT_LOADED: [&str; 16] = [
    "*.mp4",
    "*.mp4?*",
    "*.webm",
    "*.webm?*",
    "*.m3u8",
    "*.m3u8?*",
    "*.mp3",
    "*.mp3?*",
    "*.ogg",
    "*.m4s*",
    "*.woff",
    "*.woff?*",
    "*.woff2",
    "*.woff2?*",
    "*.ttf",
    "*.ttf?*",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_session_uses_the_egress_proxy_for_all_traffic() {
        let options = SessionOptions { proxy: "127.0.0.1:4711", with_bidi: true, without_sandbox: false };
        let capabilities = options.capabilities();
        let matches = capabilities["capabilities"]["firstMatch"].as_array().unwrap();
        assert_eq!(matches.len(), 2);
        for one in matches {
            assert_eq!(one["proxy"]["httpProxy"], "127.0.0.1:4711", "{one}");
            assert_eq!(one["proxy"]["sslProxy"], "127.0.0.1:4711", "{one}");
        }
        let args = matches[0]["goog:chromeOptions"]["args"].as_array().unwrap();
        for arg in [
            "--proxy-server=http://127.0.0.1:4711",
            "--proxy-bypass-list=<-loopback>",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ] {
            assert!(args.iter().any(|given| given == arg), "{arg}");
        }
        assert!(!args.iter().any(|arg| arg == "--no-sandbox"));
        assert_eq!(
            matches[1]["moz:firefoxOptions"]["prefs"]["network.proxy.allow_hijacking_localhost"],
            true
        );
    }
}
