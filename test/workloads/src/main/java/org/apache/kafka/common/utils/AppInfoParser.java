package org.apache.kafka.common.utils;

/** AppInfoParser is where the file connectors of 4.3 look for their version. 4.4 has moved it. */
public final class AppInfoParser {
    private AppInfoParser() {}

    public static String getVersion() {
        return "4.3.1";
    }
}
