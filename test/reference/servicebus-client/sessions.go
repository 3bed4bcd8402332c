package main

import (
	"context"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

// sendToSessions sends each text to the session of its first letter.
func sendToSessions(d *desk, texts ...string) {
	sender := must(d.client.NewSender(sessionQueue, nil))
	for _, text := range texts {
		message := &azservicebus.Message{Body: []byte(text), SessionID: to.Ptr(text[:1])}
		check(sender.SendMessage(d.ctx, message, nil))
	}
	check(sender.Close(d.ctx))
}

func holdsSessions(d *desk) {
	sendToSessions(d, "a1", "b1", "a2", "b2")
	a := must(d.client.AcceptSessionForQueue(d.ctx, sessionQueue, "a", nil))
	messages := d.take(a, 2)
	same(bodies(messages), []string{"a1", "a2"})
	lockedUntil := a.LockedUntil()
	check(a.RenewSessionLock(d.ctx, nil))
	if !a.LockedUntil().After(lockedUntil) {
		fail("locked until %s, and before until %s", a.LockedUntil(), lockedUntil)
	}
	check(a.SetSessionState(d.ctx, []byte{0, 255}, nil))
	same(must(a.GetSessionState(d.ctx, nil)), []byte{0, 255})
	if _, err := d.client.AcceptSessionForQueue(d.ctx, sessionQueue, "a", nil); err == nil {
		fail("two hold one session")
	}
	for _, message := range messages {
		check(a.CompleteMessage(d.ctx, message, nil))
	}
	check(a.Close(d.ctx))
	again := must(d.client.AcceptSessionForQueue(d.ctx, sessionQueue, "a", nil))
	same(must(again.GetSessionState(d.ctx, nil)), []byte{0, 255})
	check(again.SetSessionState(d.ctx, nil, nil))
	check(again.Close(d.ctx))
}

func takesNextSessions(d *desk) {
	b := must(d.client.AcceptNextSessionForQueue(d.ctx, sessionQueue, nil))
	same(b.SessionID(), "b")
	check(b.AbandonMessage(d.ctx, d.one(b), nil))
	messages := d.take(b, 2)
	same(bodies(messages), []string{"b1", "b2"})
	same([]uint32{messages[0].DeliveryCount, messages[1].DeliveryCount}, []uint32{2, 1})
	for _, message := range messages {
		check(b.CompleteMessage(d.ctx, message, nil))
	}
	check(b.Close(d.ctx))
	ctx, cancel := context.WithTimeout(d.ctx, glance)
	defer cancel()
	if nobody, err := d.client.AcceptNextSessionForQueue(ctx, sessionQueue, nil); err == nil {
		fail("a session was not expected, but %s came", nobody.SessionID())
	}
}

func listsSessions(d *desk) {
	sendToSessions(d, "c1", "d1")
	pager := d.client.NewListSessionsForQueuePager(sessionQueue, nil)
	var ids []string
	for pager.More() {
		ids = append(ids, must(pager.NextPage(d.ctx)).Sessions...)
	}
	slices.Sort(ids)
	same(ids, []string{"c", "d"})
	for _, id := range ids {
		session := must(d.client.AcceptSessionForQueue(d.ctx, sessionQueue, id, nil))
		check(session.CompleteMessage(d.ctx, d.one(session), nil))
		check(session.Close(d.ctx))
	}
}
