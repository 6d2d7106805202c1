"""Ports by name, as `ss` prints them without -n: the names of Debian's `/etc/services`, and IANA's of usual test ports.

A list of its own, since the file of the machine that reads an archive may say something else than that of the writer.
"""

from typing import Final

PORTS: Final = """
tcpmux:1 echo:7 discard:9 systat:11 daytime:13 netstat:15 qotd:17 chargen:19 ftp-data:20 ftp:21 ssh:22 telnet:23
smtp:25 time:37 whois:43 tacacs:49 domain:53 gopher:70 finger:79 http:80 kerberos:88 iso-tsap:102 acr-nema:104
poppassd:106 pop3:110 sunrpc:111 auth:113 nntp:119 epmap:135 netbios-ssn:139 imap2:143 snmp:161 snmp-trap:162
cmip-man:163 cmip-agent:164 mailq:174 bgp:179 smux:199 qmtp:209 z3950:210 pawserv:345 zserv:346 rpc2portmap:369
codaauth2:370 ldap:389 svrloc:427 https:443 snpp:444 microsoft-ds:445 kpasswd:464 submissions:465 saft:487
exec:512 login:513 shell:514 printer:515 gdomap:538 uucp:540 klogin:543 kshell:544 afpovertcp:548 rtsp:554
nntps:563 submission:587 nqs:607 qmqp:628 ipp:631 ldaps:636 ldp:646 tinc:655 silc:706 kerberos-adm:749
kerberos4:750 kerberos-master:751 krb-prop:754 moira-db:775 moira-update:777 spamd:783 domain-s:853
supfilesrv:871 rsync:873 ftps-data:989 ftps:990 telnets:992 imaps:993 pop3s:995 socks:1080 proofd:1093
rootd:1094 rmiregistry:1099 supfiledbg:1127 skkserv:1178 openvpn:1194 rmtcfg:1236 xtel:1313 xtelw:1314
lotusnote:1352 ms-sql-s:1433 ingreslock:1524 datametrics:1645 sa-msg-port:1646 kermit:1649 groupwise:1677
radius:1812 radius-acct:1813 cisco-sccp:2000 nfs:2049 gnunet:2086 rtcm-sc104:2101 gsigatekeeper:2119 iprop:2121
gris:2135 cvspserver:2401 venus:2430 venus-se:2431 codasrv:2432 codasrv-se:2433 mon:2583 zebrasrv:2600
zebra:2601 ripd:2602 ripngd:2603 ospfd:2604 bgpd:2605 ospf6d:2606 ospfapi:2607 isisd:2608 dict:2628
f5-globalsite:2792 gsiftp:2811 gpsd:2947 gds-db:3050 isns:3205 iscsi-target:3260 mysql:3306 ms-wbt-server:3389
nut:3493 distcc:3632 daap:3689 svn:3690 suucp:4031 sysrqd:4094 sieve:4190 f5-iquery:4353 epmd:4369 remctl:4373
ntske:4460 fax:4557 hylafax:4559 mtn:4691 radmin-port:4899 munin:4949 commplex-main:5000 commplex-link:5001
rfe:5002 fmpro-internal:5003 avt-profile-1:5004 avt-profile-2:5005 wsm-server:5006 sip:5060 sip-tls:5061
targus-getdata:5200 targus-getdata1:5201 targus-getdata2:5202 targus-getdata3:5203 xmpp-client:5222
xmpp-server:5269 cfengine:5308 postgresql:5432 freeciv:5556 nrpe:5666 nsca:5667 amqps:5671 amqp:5672 canna:5680
x11:6000 x11-1:6001 x11-2:6002 x11-3:6003 x11-4:6004 x11-5:6005 x11-6:6006 x11-7:6007 gnutella-svc:6346
gnutella-rtr:6347 redis:6379 sge-qmaster:6444 sge-execd:6445 mysql-proxy:6446 syslog-tls:6514 sane-port:6566
ircd:6667 ircs-u:6697 bbs:7000 font-service:7100 irdmi:8000 zope-ftp:8021 http-alt:8080 tproxy:8081 omniorb:8088
puppet:8140 pcsync-https:8443 clc-build-daemon:8990 xinetd:9098 bacula-dir:9101 bacula-fd:9102 bacula-sd:9103
git:9418 xmms2:9667 zope:9673 webmin:10000 zabbix-agent:10050 zabbix-trapper:10051 amanda:10080 kamanda:10081
amandaidx:10082 amidxtape:10083 nbd:10809 dicom:11112 hkp:11371 sgi-cad:17004 db-lsp:17500 dcap:22125
gsidcap:22128 wnn6:22273 binkp:24554 asp:27374 csync2:30865 dircproxy:57000 tfido:60177 fido:60179
"""
NAMED_PORTS: Final = {name: int(port) for name, port in (entry.split(":") for entry in PORTS.split())}
