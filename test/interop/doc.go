// Package interop runs the same checks over clients that are not Go packages
// of this module: each is a small program in its own language that speaks one
// line of JSON at a time.
//
// A program is called with a command and key=value options:
//
//	version                                     prints {"event":"version","version":"..."}
//	create  brokers= topic= partitions=         prints {"event":"created"}
//	produce brokers= topic= codec=              reads records, one JSON object a line:
//	                                              {"partition":0,"key":B,"value":B,"headers":[["name",B],...]}
//	                                            an empty line sends what has come; when all of it is
//	                                            acknowledged: {"event":"acked","count":N}
//	consume brokers= topic= group= instance= assignor=range|cooperative
//	        session=MILLISECONDS commit=auto|none protocol=classic|consumer
//	                                            prints {"event":"owns","partitions":[...]} with all that it owns
//	                                            after every change, and {"event":"record","partition":P,
//	                                            "offset":O,"key":B,"value":B,"headers":[...]}
//	        client=ID poll=MILLISECONDS         (Java only: client id, max.poll.interval.ms)
//	                                            reads "commit": {"event":"committed"}, and "leave" (or the
//	                                            end of its input): it leaves the group, {"event":"left"};
//	                                            Java only: "stall": it does not poll until it reads "go"
//	move    brokers= topic= to= group= id= session=MILLISECONDS
//	                                            copies topic to another one as a member of the group, in
//	                                            transactions of the transactional id that hold the offsets,
//	                                            some of which it gives up; prints {"event":"moved","count":N}
//	                                            after each that it has committed; reads "leave"
//
// B is base64, or null. A program that fails prints {"event":"error","text":"..."}
// and ends with another code than 0. Range assignment and the classic protocol
// are the defaults.
//
// The checks are in checks.go, the programs in clients.go. The tests run only
// with INTEROP set, since they install what they need below .cache: make
// interop sets it.
package interop
